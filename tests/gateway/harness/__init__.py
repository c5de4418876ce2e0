"""What the gateway tests stand on: nginx as a child process, an origin that plays a script, and visitors."""
