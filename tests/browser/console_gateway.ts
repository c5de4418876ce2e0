// A gateway for the console's tests: `fairway run` in front of a small application, without a room of its own, so that "waiting_room
// auto" waits for what the console makes; and visitors who come to it.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { type AddressInfo, createServer as createListener } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const host = "shop.localhost"; // what visitors ask for; browsers take every *.localhost for this machine

export interface Seen {
  status: number;
  state: string; // of Fairway's JSON; "application" when the request went through
}

export class ConsoleGateway {
  private constructor(
    readonly port: number,
    private readonly state: string,
    private readonly application: Server,
    private readonly process: ChildProcess,
    private readonly store: ChildProcess | null,
  ) {}

  get url(): string {
    return `http://localhost:${this.port}/fairway/`;
  }

  get shop(): string {
    return `http://${host}:${this.port}/`;
  }

  // `shared`: with a store of its own beside it, as several gateways would have.
  static async start(flags: readonly string[] = [], shared = false): Promise<ConsoleGateway> {
    const application = createServer((asked, answer) => {
      const slow = asked.url?.startsWith("/slow") ? 300 : 0;
      setTimeout(() => answer.end("the application"), slow);
    });
    const upstream = await listen(application);
    const port = await freePort();
    const state = mkdtempSync(join(tmpdir(), "fairway-console-"));
    const storePort = shared ? await freePort() : 0;
    const store = shared ? spawn("redis-server", ["--port", `${storePort}`, "--bind", "127.0.0.1", "--save", "", "--dir", state], { stdio: "ignore" }) : null;
    if (shared) flags = [...flags, "--store", `redis://127.0.0.1:${storePort} timeout=5s`];
    const command = process.env["FAIRWAY_COMMAND"] ?? "../build/fairway";
    const listening = ["--upstream", `http://127.0.0.1:${upstream}`, "--listen", `127.0.0.1:${port}`, "--state", state];
    let output = "";
    const gateway = spawn(command, ["run", ...listening, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [gateway.stdout, gateway.stderr]) stream?.on("data", (text: Buffer) => (output = (output + text).slice(-4000)));
    const made = new ConsoleGateway(port, state, application, gateway, store);
    for (let i = 0; i < 1000 && gateway.exitCode === null; ++i) {
      if (await made.answers()) return made;
      await new Promise((done) => setTimeout(done, 50));
    }
    await made.stop();
    throw new Error(`the gateway did not start:\n${output}`);
  }

  async stop(): Promise<void> {
    for (const child of [this.process, this.store]) {
      if (!child || child.exitCode !== null) continue;
      const gone = new Promise((done) => child.once("exit", done));
      child.kill("SIGTERM");
      await gone;
    }
    this.application.closeAllConnections();
    await new Promise((done) => this.application.close(done));
    rmSync(this.state, { recursive: true, force: true });
  }

  async api<T>(path: string): Promise<T> {
    return (await (await fetch(`${this.url}api/${path}`)).json()) as T;
  }

  // What an operator without a browser would send.
  async put(path: string, body: unknown, method = "PUT"): Promise<number> {
    const headers = { "Content-Type": "application/json" };
    return (await fetch(`${this.url}api/${path}`, { method, headers, body: JSON.stringify(body) })).status;
  }

  private async answers(): Promise<boolean> {
    try {
      return (await fetch(`${this.url}api/health`)).ok;
    } catch {
      return false;
    }
  }
}

// One that keeps cookies, without a browser.
export class Client {
  private readonly cookies = new Map<string, string>();

  constructor(private readonly gateway: ConsoleGateway) {}

  // Asks until Fairway knows this visitor: the first answer only hands out a ticket.
  async come(path = "/"): Promise<Seen> {
    const seen = await this.ask(path);
    return seen.state === "unknown" ? this.ask(path) : seen;
  }

  // The session's name, as the access log has it: the fifth field of the tokens.
  get sid(): string {
    const token = [...this.cookies].find(([name]) => name.startsWith("fairway_"))?.[1];
    return token?.split(".")[4] ?? "";
  }

  ask(path = "/"): Promise<Seen> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { Host: `${host}:${this.gateway.port}`, Accept: "application/json", ...(cookie ? { Cookie: cookie } : {}) };
    return new Promise((done, fail) => {
      const asked = request({ host: "127.0.0.1", port: this.gateway.port, path, headers, agent: false }, (answer) => {
        for (const line of answer.headers["set-cookie"] ?? []) this.keep(line);
        let text = "";
        answer.setEncoding("utf8").on("data", (part: string) => (text += part));
        answer.on("end", () => {
          const ours = answer.headers["content-type"] === "application/json";
          done({ status: answer.statusCode ?? 0, state: ours ? (JSON.parse(text) as { state: string }).state : text === "the application" ? "application" : text });
        });
      });
      asked.on("error", fail);
      asked.end();
    });
  }

  private keep(line: string): void {
    const [pair = ""] = line.split(";");
    const at = pair.indexOf("=");
    const value = pair.slice(at + 1);
    if (value) this.cookies.set(pair.slice(0, at), value);
    else this.cookies.delete(pair.slice(0, at));
  }
}

// Visitors who ask again and again, as the waiting page of each would, until they are told to stop. Ends with all its questions answered.
export class Crowd {
  private readonly loops: Promise<void>[] = [];
  private readonly states = new Map<Client, string>();
  private stopped = false;

  // They come one after the other, so that their order is known.
  async come(gateway: ConsoleGateway, count: number): Promise<void> {
    for (let i = 0; i < count; ++i) {
      const client = new Client(gateway);
      this.states.set(client, (await client.come()).state);
      this.loops.push(this.keepAsking(client));
    }
  }

  // How many were last told so.
  told(state: string): number {
    return [...this.states.values()].filter((one) => one === state).length;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.loops);
  }

  private async keepAsking(client: Client): Promise<void> {
    while (!this.stopped) {
      await new Promise((done) => setTimeout(done, 500));
      this.states.set(client, (await client.ask()).state);
    }
  }
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return (server.address() as AddressInfo).port;
}

// Below the ports that the system hands out to whoever connects.
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const listener = createListener();
    const free = await new Promise<boolean>((done) => listener.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true)));
    if (!free) continue;
    await new Promise((done) => listener.close(done));
    return port;
  }
}
