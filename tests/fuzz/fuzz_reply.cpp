// Any bytes from a store, in any cuts: no crash, no unbounded memory, and a reply is either exact or refused.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "store/valkey/link.h"
#include "store/valkey/protocol.h"

using namespace fairway;
using namespace fairway::valkey;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t step = data[0] % 64 + 1U;
  static const room::Operation operations[3];
  Request request;
  request.operations = std::span(operations).first(data[1] % 4);
  if ((data[1] & 16) != 0) request.changes_since = 1;
  if ((data[1] & 32) != 0) request.cut_id = 1;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  Config config;
  config.endpoints.push_back({"host", 1, {}});
  config.password = "secret";
  config.sentinel = "master";
  Link link(1, config.endpoints[0], (data[1] & 64) != 0 ? Link::Purpose::sentinel : Link::Purpose::data, 0, config);
  link.opened();
  std::vector<Link::Reply> replies;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    if (link.ready()) link.send("x", 7);
    if (link.receive(bytes.substr(at, step), replies) != Failure::none) break;
  }
  for (const Link::Reply& reply : replies) {
    if (reply.tag != 7) std::abort();
    Response response;
    Endpoint target;
    classify(reply.value.text);
    parse_address(reply.value.text, config.endpoints[0], target);
    if (!read_reply(reply.value, request, response)) continue;
    if (response.answers.size() != request.operations.size() || response.ended.size() > kMaxEnded) std::abort();
    for (const room::Answer& answer : response.answers) {
      if (answer.state > room::State::no_memory || answer.interval < 0) std::abort();
    }
  }
  return 0;
}
