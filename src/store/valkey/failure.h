// What can go wrong with a store, and how an error reply is told apart.
#pragma once

#include <cstdint>
#include <string_view>

namespace fairway::valkey {

enum class Failure : std::uint8_t {
  none,
  transport,     // refused, reset or closed
  timeout,       // no whole answer in time; whether the store acted is unknown
  protocol,      // what came is no answer to what was asked
  loading,       // LOADING: the store reads its data
  readonly,      // READONLY, or a node that should be the master is not
  master_down,   // MASTERDOWN
  no_auth,       // NOAUTH, WRONGPASS, NOPERM
  cluster_down,  // CLUSTERDOWN
  no_master,     // no sentinel names the master
  redirects,     // MOVED or ASK again and again
  error,         // any other error reply
  // Not failures of the store: these are handled and the call goes on.
  no_script,      // NOSCRIPT: send the text
  moved,          // MOVED slot host:port
  ask,            // ASK slot host:port
  try_again,      // TRYAGAIN: a slot is under way between two nodes
  out_of_memory,  // OOM: busy, never down
};

// A short name for logs and metrics, e.g. "timeout".
std::string_view to_string(Failure failure) noexcept;

// The meaning of an error reply, `text` as received (without the leading '-'). Finds codes that servers before 7.0 wrap into
// others as well: "ERR Error running script … -READONLY …", "@user_script: 12: -READONLY …". Never none.
Failure classify(std::string_view text) noexcept;

}  // namespace fairway::valkey
