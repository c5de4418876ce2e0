#include "store/valkey/link.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace fairway::valkey {
namespace {

constexpr std::size_t kMaxMessage = 200;
constexpr std::size_t kMaxHost = 255;

bool parse_port(std::string_view text, std::uint16_t& port) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc{} && end == text.data() + text.size() && port != 0;
}

bool is_host(std::string_view text) {
  return text.size() <= kMaxHost && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f && c != '/'; });
}

// The server's words, fit for a log line.
std::string clean(std::string_view text) {
  std::string out(text.substr(0, kMaxMessage));
  std::ranges::replace_if(
      out, [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return out;
}

}  // namespace

bool parse_address(std::string_view text, const Endpoint& asked, Endpoint& out) {
  const auto colon = text.rfind(':');
  std::uint16_t port = 0;
  if (colon == std::string_view::npos || !parse_port(text.substr(colon + 1), port) || !is_host(text.substr(0, colon))) return false;
  const std::string_view host = text.substr(0, colon);
  if (host.empty() && asked.host.empty()) return false;
  out = Endpoint{host.empty() ? asked.host : std::string(host), port, {}};
  return true;
}

Link::Link(Id id, Endpoint to, Purpose purpose, Micros deadline, const Config& config)
    : id_(id), to_(std::move(to)), purpose_(purpose), deadline_(deadline), config_(config) {}

void Link::command(std::initializer_list<std::string_view> words, Expect what) {
  append_command(output_, std::span(words.begin(), words.size()));
  expected_.push_back({what, 0});
}

void Link::authenticate() {
  authenticated_ = true;
  if (config_.user.empty()) {
    command({"AUTH", config_.password}, Expect::ok);
  } else {
    command({"AUTH", config_.user, config_.password}, Expect::ok);
  }
}

void Link::opened() {
  if (state_ != State::connecting) return;
  state_ = State::greeting;
  if (purpose_ == Purpose::sentinel) {
    command({"SENTINEL", "get-master-addr-by-name", config_.sentinel}, Expect::master);
    return;
  }
  if (!config_.password.empty()) authenticate();
  if (config_.database != 0) command({"SELECT", std::to_string(config_.database)}, Expect::ok);
  if (!config_.sentinel.empty()) command({"ROLE"}, Expect::role);
  if (expected_.empty()) state_ = State::ready;
}

void Link::send(std::string_view command, std::uint32_t tag) {
  output_.append(command);
  expected_.push_back({Expect::call, tag});
}

void Link::send_asking(std::string_view command, std::uint32_t tag) {
  this->command({"ASKING"}, Expect::asking);
  send(command, tag);
}

Failure Link::receive(std::string_view bytes, std::vector<Reply>& replies) {
  if (state_ == State::connecting) return Failure::protocol;
  reader_.feed(bytes);
  for (;;) {
    Value value;
    const auto status = reader_.next(value);
    if (status == ReplyReader::Status::incomplete) return Failure::none;
    if (status == ReplyReader::Status::error || expected_.empty()) return Failure::protocol;
    const Failure failure = take(value, replies);
    if (failure != Failure::none) return failure;
    if (state_ == State::greeting && expected_.empty()) state_ = State::ready;
  }
}

Failure Link::take(Value& value, std::vector<Reply>& replies) {
  const Expected expected = expected_.front();
  expected_.pop_front();
  if (expected.what == Expect::call) {
    if (value.type == Value::Type::error) message_ = clean(value.text);
    replies.push_back({expected.tag, std::move(value)});
    return Failure::none;
  }
  // A refused ASKING (a server without cluster support) shows in the reply to the call behind it.
  if (expected.what == Expect::asking) return Failure::none;
  if (value.type == Value::Type::error) return take_error(expected.what, value);
  switch (expected.what) {
    case Expect::master:
      return take_master(value);
    case Expect::role:
      if (value.type != Value::Type::array || value.items.empty() || value.items[0].type != Value::Type::text) return Failure::protocol;
      return value.items[0].text == "master" ? Failure::none : Failure::readonly;
    default:
      return value.type == Value::Type::text && value.text == "OK" ? Failure::none : Failure::protocol;
  }
}

Failure Link::take_error(Expect what, const Value& value) {
  const Failure failure = classify(value.text);
  // Sentinels seldom have a password; the data servers' one is shown only to a sentinel that asks for one.
  if (what == Expect::master && failure == Failure::no_auth && !authenticated_ && !config_.password.empty()) {
    authenticate();
    command({"SENTINEL", "get-master-addr-by-name", config_.sentinel}, Expect::master);
    return Failure::none;
  }
  message_ = clean(value.text);
  switch (failure) {
    case Failure::no_script:
    case Failure::moved:
    case Failure::ask:
    case Failure::try_again:
    case Failure::out_of_memory:
      return Failure::error;  // of no use in a greeting
    default:
      return failure;
  }
}

Failure Link::take_master(const Value& value) {
  if (value.type == Value::Type::nil) return Failure::no_master;
  if (value.type != Value::Type::array || value.items.size() != 2) return Failure::protocol;
  for (const Value& item : value.items) {
    if (item.type != Value::Type::text) return Failure::protocol;
  }
  return parse_address(value.items[0].text + ":" + value.items[1].text, {}, master_) ? Failure::none : Failure::protocol;
}

}  // namespace fairway::valkey
