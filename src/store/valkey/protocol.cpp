#include "store/valkey/protocol.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <limits>
#include <type_traits>
#include <utility>

namespace fairway::valkey {
namespace {

constexpr std::array<std::string_view, 8> kKeyNames{"state", "line", "due", "inside", "session", "lost", "ended", "recent"};

// The words of one command; texts that are made here stay where they are while others are added.
class Words {
 public:
  void add(std::string_view text) { words_.push_back(text); }
  void add_made(std::string text) { words_.push_back(made_.emplace_back(std::move(text))); }
  // Numbers, flags and times; what is below zero is no time and counts as none.
  template <typename Number>
  void add_number(Number number) {
    if constexpr (std::is_signed_v<Number>) number = std::max<Number>(number, 0);
    char text[20];
    const auto end = std::to_chars(text, text + sizeof text, std::min<std::uint64_t>(static_cast<std::uint64_t>(number), kMaxExact)).ptr;
    add_made(std::string(text, end));
  }

  std::span<const std::string_view> all() const { return words_; }

 private:
  std::vector<std::string_view> words_;
  std::deque<std::string> made_;
};

std::string_view raw(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

std::string_view raw(const Network& network) {
  return raw(network.bytes.data(), std::min<std::size_t>(network.size, network.bytes.size()));
}

void add_settings(Words& words, const room::Settings& settings) {
  words.add_number(settings.capacity);
  words.add_number(settings.rate);
  words.add_number(settings.rate_window);
  words.add_number(settings.session_timeout);
  words.add_number(settings.session_max);
  words.add_number(settings.grant_timeout);
  words.add_number(settings.abandon_timeout);
  words.add_number(settings.return_grace);
  words.add_number(settings.max_waiting);
  words.add_number(settings.poll_min);
  words.add_number(settings.poll_max);
  words.add_number(static_cast<unsigned>(settings.mode));
}

void add_memory(Words& words, const room::Memory& memory) {
  words.add_number(memory.epoch);
  words.add_number(memory.version);
  words.add_number(memory.last_number);
  words.add_number(memory.inside);
  words.add_number(memory.waiting);
  words.add_number(memory.outage_ended ? 1U : 0U);
}

void add_orders(Words& words, const Request& request) {
  words.add_number(request.changes_since ? 1U : 0U);
  words.add_number(request.changes_since.value_or(0));
  words.add_number(kMaxEnded);
  words.add(request.cut ? "new" : request.cut_id != 0 ? "go" : "");
  words.add(request.cut ? raw(request.cut->network) : std::string_view{});
  words.add_number(request.cut && request.cut->line ? 1U : 0U);
  words.add_number(request.cut_id);
}

void add_operation(Words& words, const room::Operation& operation) {
  constexpr std::array<std::string_view, 5> kLetters{"e", "p", "h", "r", "v"};
  words.add(kLetters[static_cast<std::size_t>(operation.kind)]);
  words.add(raw(operation.sid.bytes.data(), operation.sid.bytes.size()));
  words.add_number(operation.epoch);
  words.add_number(operation.number);
  words.add_number(operation.admitted);
  words.add(raw(operation.network));
  words.add_number(operation.gap);
}

// Takes the values of a reply one by one; anything missing or out of place makes it fail for good.
class Fields {
 public:
  explicit Fields(const std::vector<Value>& values) : values_(values) {}

  template <typename Number>
  void take(Number& out, std::uint64_t most = std::numeric_limits<Number>::max()) {
    const Value* value = next(Value::Type::integer);
    good_ = value != nullptr && value->integer >= 0 && static_cast<std::uint64_t>(value->integer) <= most;
    if (good_) out = static_cast<Number>(value->integer);
  }
  void take_flag(bool& out) {
    std::uint8_t number = 0;
    take(number, 1);
    out = number == 1;
  }
  // A text that fits `out`; what it is shorter is up to the caller.
  std::size_t take_raw(std::span<std::uint8_t> out) {
    const Value* value = next(Value::Type::text);
    good_ = value != nullptr && value->text.size() <= out.size();
    if (!good_) return 0;
    std::copy(value->text.begin(), value->text.end(), out.begin());
    return value->text.size();
  }
  void expect(bool condition) { good_ = good_ && condition; }
  bool good() const { return good_; }
  std::size_t left() const { return values_.size() - next_; }

 private:
  // nullptr once anything went wrong.
  const Value* next(Value::Type type) {
    if (!good_ || next_ == values_.size() || values_[next_].type != type) return nullptr;
    return &values_[next_++];
  }

  const std::vector<Value>& values_;
  std::size_t next_ = 0;
  bool good_ = true;
};

void take_summary(Fields& fields, room::Summary& summary) {
  fields.take(summary.now);
  fields.take(summary.epoch);
  fields.take(summary.version);
  fields.take(summary.last_number);
  fields.take(summary.inside);
  fields.take(summary.granted);
  fields.take(summary.reserved);
  fields.take(summary.waiting);
  fields.take(summary.admitted_total);
  fields.take(summary.abandoned_total);
  fields.take_flag(summary.recovering);
  fields.take_flag(summary.more_work);
}

void take_answer(Fields& fields, room::Answer& answer) {
  std::uint8_t state = 0;
  fields.take(state, static_cast<std::uint64_t>(room::State::no_memory));
  answer.state = static_cast<room::State>(state);
  std::uint8_t flags = 0;
  fields.take(flags, 3);
  answer.created = (flags & 1) != 0;
  answer.came_in = (flags & 2) != 0;
  fields.take(answer.rank);
  fields.take(answer.interval);
  fields.take(answer.epoch);
  fields.take(answer.number);
  fields.take(answer.expires);
  fields.take(answer.admitted_at);
}

void take_changes(Fields& fields, Response& response) {
  std::size_t count = 0;
  fields.take(count, kMaxEnded);
  fields.take_flag(response.more_changes);
  for (std::size_t i = 0; i < count && fields.good(); ++i) {
    room::Ended& ended = response.ended.emplace_back();
    fields.expect(fields.take_raw(ended.sid.bytes) == ended.sid.bytes.size());
    fields.take(ended.version);
  }
  fields.take(count, fields.left());
  for (std::size_t i = 0; i < count && fields.good(); ++i) {
    room::CutNotice& notice = response.cuts.emplace_back();
    notice.cut.network.size = static_cast<std::uint8_t>(fields.take_raw(notice.cut.network.bytes));
    fields.take_flag(notice.cut.line);
    fields.take(notice.at);
    fields.take(notice.number);
    fields.take(notice.version);
  }
}

}  // namespace

std::array<char, 40> sha1_hex(std::string_view text) {
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 40> hex{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    hex[2 * i] = kDigits[digest[i] >> 4];
    hex[2 * i + 1] = kDigits[digest[i] & 15];
  }
  return hex;
}

std::string_view script_sha1() noexcept {
  static const std::array<char, 40> hex = sha1_hex(script_text());
  return {hex.data(), hex.size()};
}

void append_call(std::string& out, const Request& request, bool whole_script) {
  Words words;
  words.add(whole_script ? "EVAL" : "EVALSHA");
  words.add(whole_script ? script_text() : script_sha1());
  words.add_number(kKeyNames.size());
  for (const std::string_view name : kKeyNames) {
    words.add_made("fairway:{" + std::string(request.room) + "}:" + std::string(name));
  }
  add_settings(words, request.settings);
  add_memory(words, request.memory);
  add_orders(words, request);
  words.add_number(request.operations.size());
  for (const room::Operation& operation : request.operations) add_operation(words, operation);
  append_command(out, words.all());
}

bool read_reply(const Value& reply, const Request& request, Response& response) {
  if (reply.type != Value::Type::array) return false;
  response = {};
  Fields fields(reply.items);
  take_summary(fields, response.summary);
  response.answers.resize(request.operations.size());
  for (room::Answer& answer : response.answers) take_answer(fields, answer);
  if (request.changes_since) take_changes(fields, response);
  if (request.cut || request.cut_id != 0) {
    fields.take(response.cut.id);
    fields.take(response.cut.ended);
    fields.take_flag(response.cut.done);
  }
  return fields.good() && fields.left() == 0;
}

}  // namespace fairway::valkey
