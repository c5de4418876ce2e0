#include "core/siphash.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <bit>
#include <memory>
#include <numeric>
#include <vector>

namespace fairway::test {
namespace {

// OpenSSL's, as a second opinion.
std::uint64_t reference(const SipKey& key, const std::vector<std::uint8_t>& data) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "SIPHASH", nullptr), EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_new(mac.get()), EVP_MAC_CTX_free);
  std::size_t size = 8;
  const std::array<OSSL_PARAM, 2> params = {OSSL_PARAM_construct_size_t("size", &size), OSSL_PARAM_construct_end()};
  const auto raw_key = std::bit_cast<std::array<unsigned char, 16>>(key);
  std::array<unsigned char, 8> out{};
  EXPECT_EQ(EVP_MAC_init(context.get(), raw_key.data(), raw_key.size(), params.data()), 1);
  EXPECT_EQ(EVP_MAC_update(context.get(), data.data(), data.size()), 1);
  EXPECT_EQ(EVP_MAC_final(context.get(), out.data(), &size, out.size()), 1);
  return std::bit_cast<std::uint64_t>(out);
}

// Appendix A of the paper: key 00..0f, message 00..0e.
TEST(SipHash, AgreesWithThePaper) {
  std::array<std::uint8_t, 15> message;
  std::iota(message.begin(), message.end(), std::uint8_t{0});
  const SipKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(siphash(key, message.data(), message.size()), 0xa129ca6149be45e5u);
  EXPECT_EQ(siphash(key, nullptr, 0), 0x726fdb47dd0e0e31u);
}

RC_GTEST_PROP(SipHashProperty, AgreesWithOpenSsl, (std::uint64_t k0, std::uint64_t k1, std::vector<std::uint8_t> data)) {
  RC_ASSERT(siphash({k0, k1}, data.data(), data.size()) == reference({k0, k1}, data));
}

}  // namespace
}  // namespace fairway::test
