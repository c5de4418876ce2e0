// What tokens, limits and hashes cost a request. Run: build/bench/micro_bench --benchmark_filter=token
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/cookies.h"
#include "core/limiter.h"
#include "core/siphash.h"
#include "core/token.h"

namespace fairway {
namespace {

const KeyRing& keys() {
  static const std::unique_ptr<KeyRing> ring = [] {
    std::string error;
    return KeyRing::parse(make_key_line(), error);
  }();
  return *ring;
}

Token token_of(TokenKind kind, std::uint64_t visitor) {
  Token token;
  token.kind = kind;
  token.sid.bytes[0] = static_cast<std::uint8_t>(visitor);
  token.issued = 1'700'000'000;
  token.expires = 1'700'000'600;
  token.epoch = 1'699'999'999'000'001;
  token.number = 1'700'000'000'123'456 + visitor;
  if (kind == TokenKind::pass) token.admitted = 1'700'000'000;
  return token;
}

std::string text_of(const Token& token) {
  std::array<char, kMaxTokenSize> out;
  return {out.data(), write_token(keys(), "sale", token, out)};
}

TokenContext context_of(const Token& token) {
  TokenContext context;
  context.room = "sale";
  context.kind = token.kind;
  context.now = token.issued + 1;
  return context;
}

void token_write(benchmark::State& state) {
  const Token token = token_of(TokenKind::pass, 1);
  std::array<char, kMaxTokenSize> out;
  while (state.KeepRunning()) benchmark::DoNotOptimize(write_token(keys(), "sale", token, out));
}
BENCHMARK(token_write);

void token_verify(benchmark::State& state) {
  const Token token = token_of(TokenKind::pass, 1);
  const std::string text = text_of(token);
  const TokenContext context = context_of(token);
  Token read;
  while (state.KeepRunning()) benchmark::DoNotOptimize(verify_token(keys(), context, text, read));
}
BENCHMARK(token_verify);

// As many visitors as the argument says, one after the other, before a cache of 4,096.
void token_verify_cached(benchmark::State& state) {
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(state.range(0)); ++i) texts.push_back(text_of(token_of(TokenKind::pass, i)));
  const TokenContext context = context_of(token_of(TokenKind::pass, 0));
  TokenCache cache;
  Token read;
  std::size_t next = 0;
  while (state.KeepRunning()) {
    benchmark::DoNotOptimize(cache.verify(keys(), context, texts[next], read));
    next = next + 1 == texts.size() ? 0 : next + 1;
  }
  state.counters["hit_share"] = static_cast<double>(cache.hits()) / static_cast<double>(state.iterations());
}
BENCHMARK(token_verify_cached)->Arg(1)->Arg(1'000)->Arg(100'000);

// What a flood sends: the form is right, the signature is not.
void token_refuse_forged(benchmark::State& state) {
  const Token token = token_of(TokenKind::ticket, 1);
  std::string text = text_of(token);
  text[text.size() - 10] = text[text.size() - 10] == 'A' ? 'B' : 'A';
  const TokenContext context = context_of(token);
  Token read;
  while (state.KeepRunning()) benchmark::DoNotOptimize(verify_token(keys(), context, text, read));
}
BENCHMARK(token_refuse_forged);

void token_refuse_malformed(benchmark::State& state) {
  const std::string text(200, 'a');
  const TokenContext context = context_of(token_of(TokenKind::ticket, 1));
  Token read;
  while (state.KeepRunning()) benchmark::DoNotOptimize(verify_token(keys(), context, text, read));
}
BENCHMARK(token_refuse_malformed);

void token_cookies_strip(benchmark::State& state) {
  const std::string header = "theme=dark; fairway_ticket_sale=" + text_of(token_of(TokenKind::ticket, 1)) +
                             "; sessionid=0123456789abcdef; fairway_pass_sale=" + text_of(token_of(TokenKind::pass, 1));
  std::string out(header.size(), '\0');
  std::array<std::string_view, kMaxSameCookies> found;
  while (state.KeepRunning()) {
    std::size_t count = 0;
    benchmark::DoNotOptimize(strip_cookies(header, out, [&](std::string_view, std::string_view value) { found[count++] = value; }));
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(token_cookies_strip);

// Keys from all over a table of 65,536.
void limiter_admit(benchmark::State& state) {
  constexpr std::size_t kEntries = 65'536;
  std::vector<std::uint64_t> block(Limiter::bytes(kEntries) / sizeof(std::uint64_t) + 1);
  Limiter* limiter = Limiter::create(block.data(), kEntries);
  std::uint64_t now = 0;
  while (state.KeepRunning()) {
    ++now;
    benchmark::DoNotOptimize(limiter->admit(now % 50'000 * 0x9e3779b97f4a7c15, 60, 60'000, now / 1000));
  }
}
BENCHMARK(limiter_admit);

void siphash_of_16_bytes(benchmark::State& state) {
  const SipKey key{1, 2};
  std::array<std::uint8_t, 16> data{};
  while (state.KeepRunning()) {
    ++data[0];
    benchmark::DoNotOptimize(siphash(key, data.data(), data.size()));
  }
}
BENCHMARK(siphash_of_16_bytes);

}  // namespace
}  // namespace fairway
