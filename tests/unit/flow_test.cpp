// Who a client is: networks by prefix, sessions by keyed hash.
#include "core/flow.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace fairway {
namespace {

ClientAddress v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  const std::array<std::uint8_t, 4> bytes{a, b, c, d};
  return ClientAddress::v4(bytes);
}

ClientAddress v6(const std::vector<unsigned>& groups) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < groups.size(); ++i) {
    bytes[2 * i] = static_cast<std::uint8_t>(groups[i] >> 8);
    bytes[2 * i + 1] = static_cast<std::uint8_t>(groups[i]);
  }
  return ClientAddress::v6(bytes);
}

std::string text(const OuterKey& key) {
  std::array<char, kMaxOuterKeyText> out;
  return {out.data(), print(key, out)};
}

std::string text(const ClientAddress& address, unsigned v4_bits = 24, unsigned v6_bits = 56) {
  return text(outer_key(address, v4_bits, v6_bits));
}

TEST(Flow, NetworksArePrefixes) {
  EXPECT_EQ(text(v4(203, 0, 113, 77)), "203.0.113.0/24");
  EXPECT_EQ(text(v4(203, 0, 113, 77), 32), "203.0.113.77/32");
  EXPECT_EQ(text(v4(203, 0, 113, 77), 25), "203.0.113.0/25");
  EXPECT_EQ(text(v4(203, 0, 113, 177), 25), "203.0.113.128/25");
  EXPECT_EQ(text(v4(203, 0, 113, 77), 0), "0.0.0.0/0");
  EXPECT_EQ(text(v4(203, 0, 113, 77), 99), "203.0.113.77/32");
  EXPECT_EQ(outer_key(v4(10, 1, 2, 3), 24, 56), outer_key(v4(10, 1, 2, 200), 24, 56));
  EXPECT_NE(outer_key(v4(10, 1, 2, 3), 24, 56), outer_key(v4(10, 1, 3, 3), 24, 56));
  EXPECT_NE(outer_key(v4(10, 1, 2, 0), 24, 56), outer_key(v4(10, 1, 2, 0), 25, 56));
}

TEST(Flow, Ipv6NetworksAreWrittenShort) {
  EXPECT_EQ(text(v6({0x2001, 0xdb8, 0, 0x1ff, 1, 2, 3, 4})), "2001:db8:0:100::/56");
  EXPECT_EQ(text(v6({0x2001, 0xdb8}), 24, 128), "2001:db8::/128");
  EXPECT_EQ(text(v6({})), "::/56");
  EXPECT_EQ(text(v6({0, 0, 0, 0, 0, 0, 0, 1}), 24, 128), "::1/128");
  EXPECT_EQ(text(v6({1, 0, 0, 2, 0, 0, 0, 3}), 24, 128), "1:0:0:2::3/128");
  EXPECT_EQ(text(v6({1, 0, 0, 2, 3, 0, 0, 4}), 24, 128), "1::2:3:0:0:4/128");
  EXPECT_EQ(text(v6({1, 0, 2, 3, 4, 5, 6, 7}), 24, 128), "1:0:2:3:4:5:6:7/128");
  EXPECT_EQ(text(v6({0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff}), 24, 128),
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128");
}

TEST(Flow, MappedAddressesAreIpv4) {
  EXPECT_EQ(v6({0, 0, 0, 0, 0, 0xffff, 0xcb00, 0x714d}), v4(203, 0, 113, 77));
  EXPECT_EQ(text(v6({0, 0, 0, 0, 0, 0xffff, 0xcb00, 0x714d})), "203.0.113.0/24");
  EXPECT_EQ(v6({0, 0, 0, 0, 0, 0xfffe, 0xcb00, 0x714d}).family, AddressFamily::v6);
}

TEST(Flow, SocketsAndUnknownsAreOneNetworkEach) {
  EXPECT_EQ(text(ClientAddress::unix_socket()), "unix");
  EXPECT_EQ(text(ClientAddress::unknown()), "unknown");
  EXPECT_NE(outer_key(ClientAddress::unix_socket(), 24, 56), outer_key(ClientAddress::unknown(), 24, 56));
  EXPECT_NE(outer_key(v4(0, 0, 0, 0), 0, 0), outer_key(v6({}), 0, 0));
}

// 10,000 addresses of one /56 are one network.
TEST(Flow, RotatingAddressesStayInOneNetwork) {
  std::set<std::string> networks;
  for (unsigned i = 0; i < 10'000; ++i) networks.insert(text(v6({0x2001, 0xdb8, 7, i & 0xff, i, i * 7, i * 31, 1})));
  EXPECT_EQ(networks, std::set<std::string>{"2001:db8:7::/56"});
}

class InnerKeys : public ::testing::Test {
 protected:
  static std::uint64_t digest(const std::vector<std::optional<std::string>>& fields, const SipKey& key = {1, 2}) {
    InnerKey inner(outer_key(v4(10, 0, 0, 1), 24, 56));
    for (const auto& field : fields) {
      if (field) {
        inner.add(*field);
      } else {
        inner.absent();
      }
    }
    return inner.digest(key);
  }
};

// No two lists of fields are alike, wherever the bytes are cut.
TEST_F(InnerKeys, FieldsAreNotAmbiguous) {
  const std::vector<std::vector<std::optional<std::string>>> lists{{"ab", "c"},
                                                                   {"a", "bc"},
                                                                   {"abc", ""},
                                                                   {"", "abc"},
                                                                   {"abc", std::nullopt},
                                                                   {std::nullopt, "abc"},
                                                                   {"abc"},
                                                                   {"", ""},
                                                                   {std::nullopt, ""},
                                                                   {"", std::nullopt},
                                                                   {""},
                                                                   {std::nullopt},
                                                                   {},
                                                                   {std::string("a\0b", 3)},
                                                                   {"a", "b"},
                                                                   {std::string(8, '\0')},
                                                                   {std::string(9, '\0')}};
  std::set<std::uint64_t> digests;
  for (const auto& list : lists) digests.insert(digest(list));
  EXPECT_EQ(digests.size(), lists.size());
}

TEST_F(InnerKeys, EqualFieldsGiveEqualKeys) {
  EXPECT_EQ(digest({"session=1", "Firefox"}), digest({"session=1", "Firefox"}));
}

TEST_F(InnerKeys, TheSecretCounts) {
  EXPECT_NE(digest({"a"}, {1, 2}), digest({"a"}, {1, 3}));
  EXPECT_NE(digest({"a"}, {1, 2}), digest({"a"}, {2, 2}));
}

TEST_F(InnerKeys, NetworkAndAddressCount) {
  const SipKey key{1, 2};
  const InnerKey a(outer_key(v4(10, 0, 0, 1), 24, 56));
  const InnerKey b(outer_key(v4(10, 0, 1, 1), 24, 56));
  EXPECT_NE(a.digest(key), b.digest(key));
  InnerKey c(outer_key(v4(10, 0, 0, 1), 24, 56));
  InnerKey d(outer_key(v4(10, 0, 0, 2), 24, 56));
  EXPECT_EQ(c.digest(key), d.digest(key));
  c.address(v4(10, 0, 0, 1));
  d.address(v4(10, 0, 0, 2));
  EXPECT_NE(c.digest(key), d.digest(key));
}

TEST_F(InnerKeys, AtMostFourKibibytesAreHashed) {
  InnerKey inner(outer_key(v4(10, 0, 0, 1), 24, 56));
  for (int i = 0; i < 100; ++i) inner.add(std::string(1000, 'x'));
  EXPECT_LE(inner.size(), kMaxHashedBytes);
  EXPECT_GE(inner.size(), kMaxHashedBytes - 9);
  const std::string base(5000, 'x');
  std::string other = base;
  other[3000] = 'y';
  EXPECT_NE(digest({base}), digest({other}));
  other = base;
  other[4500] = 'y';
  EXPECT_EQ(digest({base}), digest({other}));       // beyond the limit
  EXPECT_NE(digest({base}), digest({base + "x"}));  // but the length counts
}

}  // namespace
}  // namespace fairway
