#include "cli/front_proxy.h"

#include <algorithm>
#include <array>

#include "cli/failure.h"

namespace fairway::cli {
namespace {

// https://www.cloudflare.com/ips/
constexpr std::array<std::string_view, 22> kCloudflare{
    "173.245.48.0/20", "103.21.244.0/22", "103.22.200.0/22",  "103.31.4.0/22",   "141.101.64.0/18", "108.162.192.0/18",
    "190.93.240.0/20", "188.114.96.0/20", "197.234.240.0/22", "198.41.128.0/17", "162.158.0.0/15",  "104.16.0.0/13",
    "104.24.0.0/14",   "172.64.0.0/13",   "131.0.72.0/22",    "2400:cb00::/32",  "2606:4700::/32",  "2803:f800::/32",
    "2405:b500::/32",  "2405:8100::/32",  "2a06:98c0::/29",   "2c0f:f248::/32"};

}  // namespace

const std::string_view kCloudflareListDate = "2023-09-28";

std::span<const std::string_view> cloudflare_networks() {
  return kCloudflare;
}

FrontProxy front_proxy(std::string_view preset, const std::vector<std::string>& networks, const std::string& header) {
  FrontProxy proxy;
  if (preset == "nginx") {
    proxy.networks = {"127.0.0.0/8", "::1/128"};
    proxy.note = "an nginx on this machine";
  } else if (preset == "cloudflare") {
    proxy.networks.assign(kCloudflare.begin(), kCloudflare.end());
    proxy.header = "CF-Connecting-IP";
    proxy.note = "Cloudflare's ranges, list of " + std::string(kCloudflareListDate) + ", https://www.cloudflare.com/ips/";
  } else if (!preset.empty()) {
    throw UsageError("--preset: give nginx or cloudflare");
  }
  for (const std::string& network : networks) {
    if (std::find(proxy.networks.begin(), proxy.networks.end(), network) == proxy.networks.end()) proxy.networks.push_back(network);
  }
  if (!header.empty()) proxy.header = header;
  if (proxy.networks.empty() && !header.empty()) {
    throw UsageError("--client-ip-header needs --trust-proxy: whoever sets that header must be named");
  }
  return proxy;
}

}  // namespace fairway::cli
