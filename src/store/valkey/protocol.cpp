#include "store/valkey/protocol.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <deque>
#include <limits>
#include <utility>
#include <vector>

#include <openssl/sha.h>

namespace fairway::valkey {
namespace {

constexpr std::array<std::string_view, 7> kKeyNames{"state", "line", "due", "inside", "session", "recent", "marks"};
constexpr std::size_t kSummaryFields = 11;
constexpr std::size_t kAnswerFields = 8;

// The words of one command; texts that are made here stay where they are while others are added.
class Words {
 public:
  void add(std::string_view text) { words_.push_back(text); }
  void add_made(std::string text) { words_.push_back(made_.emplace_back(std::move(text))); }

  template <std::unsigned_integral Number>
  void add_number(Number number) {
    char text[20];
    const auto end = std::to_chars(text, text + sizeof text, std::min<std::uint64_t>(number, kMaxExact)).ptr;
    add_made(std::string(text, end));
  }
  // Times and gaps; what is below zero is no time and counts as none.
  void add_time(Micros time) { add_number(static_cast<std::uint64_t>(std::max<Micros>(time, 0))); }

  std::span<const std::string_view> all() const { return words_; }

 private:
  std::vector<std::string_view> words_;
  std::deque<std::string> made_;
};

void add_settings(Words& words, const room::Settings& settings) {
  words.add_number(settings.capacity);
  words.add_number(settings.rate);
  words.add_time(settings.rate_window);
  words.add_time(settings.session_timeout);
  words.add_time(settings.session_max);
  words.add_time(settings.grant_timeout);
  words.add_time(settings.abandon_timeout);
  words.add_time(settings.return_grace);
  words.add_number(settings.max_waiting);
  words.add_time(settings.poll_min);
  words.add_time(settings.poll_max);
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

std::string_view kind_letter(room::Kind kind) {
  constexpr std::array<std::string_view, 4> kLetters{"e", "p", "h", "r"};
  return kLetters[static_cast<std::size_t>(kind)];
}

template <std::size_t size>
std::string_view raw(const std::array<std::uint8_t, size>& bytes, std::size_t count) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(count, size)};
}

void add_operation(Words& words, const room::Operation& operation) {
  words.add(kind_letter(operation.kind));
  words.add(raw(operation.sid.bytes, operation.sid.bytes.size()));
  words.add_number(operation.epoch);
  words.add_number(operation.number);
  words.add_time(operation.admitted);
  words.add(raw(operation.network.bytes, operation.network.size));
  words.add_time(operation.gap);
}

// Takes the integers of a reply one by one; anything out of place makes it fail for good.
class Fields {
 public:
  explicit Fields(const std::vector<Value>& values) : values_(values) {}

  template <typename Number>
  void take(Number& out, std::uint64_t most = std::numeric_limits<Number>::max()) {
    const Value& value = values_[next_++];
    const bool fits = value.type == Value::Type::integer && value.integer >= 0 && static_cast<std::uint64_t>(value.integer) <= most;
    good_ = good_ && fits;
    if (fits) out = static_cast<Number>(value.integer);
  }
  void take_flag(bool& out) {
    std::uint8_t number = 0;
    take(number, 1);
    out = number == 1;
  }
  bool good() const { return good_; }

 private:
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
  fields.take_flag(answer.created);
  fields.take(answer.rank);
  fields.take(answer.interval);
  fields.take(answer.epoch);
  fields.take(answer.number);
  fields.take(answer.expires);
  fields.take(answer.admitted_at);
}

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

}  // namespace

std::string_view script_sha1() noexcept {
  static const std::array<char, 40> hex = sha1_hex(script_text());
  return {hex.data(), hex.size()};
}

void append_call(std::string& out, std::string_view room, const room::Settings& settings, const room::Memory& memory,
                 std::span<const room::Operation> operations, bool whole_script) {
  Words words;
  words.add(whole_script ? "EVAL" : "EVALSHA");
  words.add(whole_script ? script_text() : script_sha1());
  words.add_number(kKeyNames.size());
  for (const std::string_view name : kKeyNames) {
    words.add_made("fairway:{" + std::string(room) + "}:" + std::string(name));
  }
  add_settings(words, settings);
  add_memory(words, memory);
  words.add_number(operations.size());
  for (const room::Operation& operation : operations) add_operation(words, operation);
  append_command(out, words.all());
}

bool read_reply(const Value& reply, room::Summary& summary, std::span<room::Answer> answers) noexcept {
  if (reply.type != Value::Type::array || reply.items.size() != kSummaryFields + kAnswerFields * answers.size()) return false;
  Fields fields(reply.items);
  take_summary(fields, summary);
  for (room::Answer& answer : answers) take_answer(fields, answer);
  return fields.good();
}

}  // namespace fairway::valkey
