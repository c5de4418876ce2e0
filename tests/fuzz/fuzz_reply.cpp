// Any bytes from a store, in any cuts: no crash, no unbounded memory, and a reply is either exact or refused.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "store/valkey/link.h"
#include "store/valkey/protocol.h"

using namespace fairway;
using namespace fairway::valkey;

namespace {

// Bytes rarely make a long array by themselves: one byte an item gets the decoder past its first checks.
std::string composed(std::string_view bytes) {
  std::string out = "*" + std::to_string(bytes.size()) + "\r\n";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 224) {
      out += ":" + std::to_string(byte < 200 ? byte : (1LL << (byte - 200)) * 3) + "\r\n";
    } else if (byte < 250) {
      const std::size_t size = byte == 224 ? 16 : byte - 225U;
      out += "$" + std::to_string(size) + "\r\n" + std::string(size, c) + "\r\n";
    } else {
      out += byte == 250 ? "$-1\r\n" : byte == 251 ? ":-1\r\n" : byte == 252 ? "*0\r\n" : "+x\r\n";
    }
  }
  return out;
}

void check(const Value& value, const Request& request) {
  Response response;
  if (!read_reply(value, request, response)) return;
  if (response.answers.size() != request.operations.size() || response.ended.size() > kMaxEnded) std::abort();
  for (const room::Answer& answer : response.answers) {
    if (answer.state > room::State::no_memory || answer.interval < 0 || answer.expires < 0) std::abort();
  }
  for (const room::CutNotice& notice : response.cuts) {
    if (notice.cut.network.size > notice.cut.network.bytes.size()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t step = data[0] % 64 + 1U;
  const std::uint8_t options = data[1];
  static const room::Operation operations[3];
  Request request;
  request.operations = std::span(operations).first(options % 4);
  if ((options & 4) != 0) request.changes_since = 1;
  if ((options & 8) != 0) request.cut_id = 1;
  std::string bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  if ((options & 16) != 0) bytes = composed(bytes);
  Config config;
  config.endpoints.push_back({"host", 1, {}});
  if ((options & 32) != 0) config.password = "secret";
  if ((options & 64) != 0) config.sentinel = "master";
  Link link(1, config.endpoints[0], (options & 128) != 0 ? Link::Purpose::sentinel : Link::Purpose::data, 0, config);
  link.opened();
  std::vector<Link::Reply> replies;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    if (link.ready()) link.send("x", 7);
    if (link.receive(std::string_view(bytes).substr(at, step), replies) != Failure::none) break;
  }
  for (const Link::Reply& reply : replies) {
    if (reply.tag != 7) std::abort();
    Endpoint target;
    classify(reply.value.text);
    if (parse_address(reply.value.text, config.endpoints[0], target) && (target.host.empty() || target.port == 0)) std::abort();
    check(reply.value, request);
  }
  return 0;
}
