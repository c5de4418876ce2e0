// Where a gateway's API is, and as whom to ask it.
#pragma once

#include <string>
#include <string_view>

namespace fairway::cli {

struct ApiAddress {
  std::string url;  // http[s]://HOST[:PORT]/PATH/ without user and password; `api/rooms` and the like go behind it
  std::string user;
  std::string password;
  bool here = false;  // the host is this machine: no proxy between
};

inline constexpr std::string_view kDefaultApi = "http://localhost:8080/fairway/";

// http[s]://[USER[:PASSWORD]@]HOST[:PORT][/PATH]. Throws UsageError, whose text never holds the password.
ApiAddress parse_api_address(std::string_view text);

// What --api says (empty: FAIRWAY_API, else kDefaultApi). FAIRWAY_API_USER and FAIRWAY_API_PASSWORD fill in what the URL leaves out; a
// password without a user is that of `operator`, as for fairway run.
ApiAddress api_address(const std::string& flag);

}  // namespace fairway::cli
