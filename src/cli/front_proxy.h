// Who may tell the client's address on its behalf: the proxies in front of the gateway.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fairway::cli {

// What nginx's real_ip module needs to know. Nobody is trusted while `networks` is empty.
struct FrontProxy {
  std::vector<std::string> networks;  // network/bits
  std::string header = "X-Forwarded-For";
  std::string note;  // where a built-in list comes from; empty for the user's own
};

// The day of Cloudflare's list and the ranges of it: IPv4 first.
extern const std::string_view kCloudflareListDate;
std::span<const std::string_view> cloudflare_networks();

// preset: "", "nginx" (an nginx on this machine) or "cloudflare"; `networks` are added to those of the preset; an empty header means the
// preset's. Throws UsageError for another preset, and for a header that nobody is trusted to set.
FrontProxy front_proxy(std::string_view preset, const std::vector<std::string>& networks, const std::string& header);

}  // namespace fairway::cli
