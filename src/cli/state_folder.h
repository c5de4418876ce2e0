// The folder that `fairway run` keeps its things in, and that only one of them uses at a time.
//
//   DIR            0700, of whoever starts the command: nginx.conf, keys, nginx.pid, lock
//   DIR/work       nginx's working folder. Below root it belongs to root, so that a worker cannot plant links in it, and is passable
//   DIR/work/console  0600, of the workers: the console's password, hashed; with --console-allow only
//   DIR/work/room  0700, of the workers: the module's state; nginx makes its temporary folders beside it
#pragma once

#include <string>

#include "cli/settings.h"

namespace fairway::cli {

class StateFolder {
 public:
  // Makes what is missing, the keys too, and takes the lock. Throws RunError when the folder cannot be used safely or is in use.
  StateFolder(const RunSettings& settings, const Machine& machine);
  ~StateFolder();
  // Writes the console's password file, which nginx's workers read at each request.
  void give_password(const std::string& line, const Machine& machine) const;
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

 private:
  std::string work_;
  int lock_ = -1;
};

}  // namespace fairway::cli
