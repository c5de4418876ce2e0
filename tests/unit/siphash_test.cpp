#include "core/siphash.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <bit>
#include <memory>
#include <vector>

namespace fairway::test {
namespace {

// OpenSSL's, as a second opinion.
std::uint64_t reference(const SipKey& key, const std::vector<std::uint8_t>& data) {
  const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(EVP_MAC_fetch(nullptr, "SIPHASH", nullptr), EVP_MAC_free);
  const std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context(EVP_MAC_CTX_new(mac.get()), EVP_MAC_CTX_free);
  std::size_t size = 8;
  unsigned rounds = 1;
  unsigned last_rounds = 3;
  const std::array<OSSL_PARAM, 4> params = {OSSL_PARAM_construct_size_t("size", &size), OSSL_PARAM_construct_uint("c-rounds", &rounds),
                                            OSSL_PARAM_construct_uint("d-rounds", &last_rounds), OSSL_PARAM_construct_end()};
  const auto raw_key = std::bit_cast<std::array<unsigned char, 16>>(key);
  std::array<unsigned char, 8> out{};
  EXPECT_EQ(EVP_MAC_init(context.get(), raw_key.data(), raw_key.size(), params.data()), 1);
  EXPECT_EQ(EVP_MAC_update(context.get(), data.data(), data.size()), 1);
  EXPECT_EQ(EVP_MAC_final(context.get(), out.data(), &size, out.size()), 1);
  return std::bit_cast<std::uint64_t>(out);
}

// The key of the paper's appendix A, 00..0f, and the digest of nothing that other libraries' own tests give for 1 and 3 rounds.
TEST(SipHash, OfNothing) {
  EXPECT_EQ(siphash({0x0706050403020100, 0x0f0e0d0c0b0a0908}, nullptr, 0), 0xabac0158050fc4dcu);
}

RC_GTEST_PROP(SipHashProperty, AgreesWithOpenSsl, (std::uint64_t k0, std::uint64_t k1, std::vector<std::uint8_t> data)) {
  RC_ASSERT(siphash({k0, k1}, data.data(), data.size()) == reference({k0, k1}, data));
}

}  // namespace
}  // namespace fairway::test
