#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <atomic>

#include "core/base64.h"
#include "core/hmac.h"
#include "core/token.h"

namespace fairway {
namespace {

constexpr std::size_t kMaxKeyId = 8;

bool is_key_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= kMaxKeyId && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
}

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

// Reads `id:secret`; nullptr when good, else what is wrong with it. Says nothing of what is there: it may be a secret.
const char* read_key(std::string_view line, Key& key) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return "expected KEYID:BASE64";
  const std::string_view id = line.substr(0, colon);
  if (!is_key_id(id)) return "the key id must be 1 to 8 letters and digits";
  const std::string_view base64 = line.substr(colon + 1);
  Bytes32 secret;
  const bool good = base64.size() == kBase64Size32 + 1 && base64.back() == '=' &&
                    base64_decode(base64.substr(0, kBase64Size32), Base64::standard, secret);
  if (good) {
    key.id = id;
    hmac_prepare(key, secret);
  }
  OPENSSL_cleanse(secret.data(), secret.size());
  return good ? nullptr : "the key must be 32 bytes in base64: 44 characters of A-Z a-z 0-9 + /, the last one =";
}

std::uint64_t next_serial() noexcept {
  static std::atomic<std::uint64_t> serial{0};
  return ++serial;
}

}  // namespace

KeyRing::KeyRing(std::vector<Key> keys) noexcept : keys_(std::move(keys)), serial_(next_serial()) {}

const Key* KeyRing::find(std::string_view id) const noexcept {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [id](const Key& key) { return key.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

std::unique_ptr<KeyRing> KeyRing::parse(std::string_view text, std::string& error) {
  std::vector<Key> keys;
  std::vector<std::size_t> lines;  // of each key
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, std::min(text.find('#'), end)));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    Key key;
    if (const char* fault = read_key(line, key)) {
      error = "line " + std::to_string(number) + ": " + fault;
      return nullptr;
    }
    const auto twin = std::find_if(keys.begin(), keys.end(), [&key](const Key& other) { return other.id == key.id; });
    if (twin != keys.end()) {
      const std::size_t first = lines[static_cast<std::size_t>(twin - keys.begin())];
      error = "line " + std::to_string(number) + ": the same key id as in line " + std::to_string(first);
      return nullptr;
    }
    keys.push_back(std::move(key));
    lines.push_back(number);
  }
  if (keys.empty()) {
    error = "there is no key in it";
    return nullptr;
  }
  return std::unique_ptr<KeyRing>(new KeyRing(std::move(keys)));
}

std::string make_key_line(std::span<const std::string> taken) {
  // 32 letters and digits that are hard to mix up, so that five random bits choose one.
  constexpr std::string_view kLetters = "abcdefghijkmnpqrstuvwxyz23456789";
  static_assert(kLetters.size() == 32);
  std::array<std::uint8_t, kMaxKeyId> random;
  std::string line;
  do {
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) return {};
    line.clear();
    for (const std::uint8_t byte : random) line += kLetters[byte & 31];
  } while (std::find(taken.begin(), taken.end(), line) != taken.end());
  Bytes32 secret;
  std::array<char, kBase64Size32> base64;
  if (RAND_priv_bytes(secret.data(), static_cast<int>(secret.size())) != 1) return {};
  base64_encode(secret, Base64::standard, base64);
  line.append(1, ':').append(base64.data(), base64.size()).append(1, '=');
  OPENSSL_cleanse(secret.data(), secret.size());
  OPENSSL_cleanse(base64.data(), base64.size());
  return line;
}

}  // namespace fairway
