#include <gtest/gtest.h>

#include "cli/failure.h"
#include "cli/values.h"

namespace fairway::cli {
namespace {

TEST(Upstream, TakesUrlsOfEveryForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"http://127.0.0.1:3000", "http://127.0.0.1:3000"},
      {"http://127.0.0.1:3000/", "http://127.0.0.1:3000"},
      {"HTTP://Shop.Example", "http://shop.example:80"},
      {"https://shop.example", "https://shop.example:443"},
      {"https://shop.example/base", "https://shop.example:443/base/"},
      {"http://[::1]:3000/a/b/", "http://[::1]:3000/a/b/"},
      {"http://[2001:DB8::1]", "http://[2001:db8::1]:80"},
      {"http://app_1:65535/a%20b;c'd", "http://app_1:65535/a%20b;c'd/"},
  };
  for (const auto& [text, url] : cases) EXPECT_EQ(parse_upstream(text).url(), url) << text;
}

TEST(Upstream, RefusesWhatCannotBeProxiedTo) {
  const char* const cases[] = {"",
                               "localhost:3000",
                               "ftp://x",
                               "http://",
                               "http:///path",
                               "http://x:0",
                               "http://x:65536",
                               "http://x:",
                               "http://x:80x",
                               "http://::1:3000",
                               "http://[::1",
                               "http://[nothex]:1",
                               "http://[::1]x",
                               "http://user:secret@x",
                               "http://x/a?b",
                               "http://x/#a",
                               "http://x?y",
                               "http://x/$uri",
                               "http://x/%2",
                               "http://x/%zz",
                               "http://x/a b",
                               "http://x/\"",
                               "http://x/a\\b",
                               "http://x/a{b}",
                               "http://x\n/",
                               "http://x/\n",
                               "http://x;evil on",
                               "http://x y",
                               "http://$host"};
  for (const char* text : cases) EXPECT_THROW(parse_upstream(text), UsageError) << text;
}

TEST(Upstream, NeverRepeatsAPassword) {
  try {
    parse_upstream("http://user:secret@x");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_EQ(std::string(error.what()).find("secret"), std::string::npos);
  }
}

TEST(Listen, TakesPortsAndAddresses) {
  const std::pair<const char*, const char*> cases[] = {
      {"8080", "127.0.0.1:8080"},        {"0.0.0.0:80", "0.0.0.0:80"},   {"*:80", "0.0.0.0:80"},
      {"localhost:1", "127.0.0.1:1"},    {"[::1]:65535", "[::1]:65535"}, {"[::]:80", "[::]:80"},
      {"192.0.2.7:443", "192.0.2.7:443"}};
  for (const auto& [text, authority] : cases) EXPECT_EQ(parse_listen(text).authority(), authority) << text;
  EXPECT_EQ(Listen{}.authority(), "127.0.0.1:8080");
}

TEST(Listen, EverybodyMeansBothFamilies) {
  EXPECT_EQ(parse_listen("[::]:80").sockets().size(), 2U);
  EXPECT_EQ(parse_listen("[::]:80").sockets()[0].authority(), "0.0.0.0:80");
  EXPECT_EQ(parse_listen("80").sockets().size(), 1U);
}

TEST(Listen, UrlCanBeOpenedHere) {
  EXPECT_EQ(parse_listen("0.0.0.0:80").url(), "http://localhost:80/");
  EXPECT_EQ(parse_listen("[::]:80").url(), "http://localhost:80/");
  EXPECT_EQ(parse_listen("[::1]:80").url(), "http://[::1]:80/");
}

TEST(Listen, RefusesTheRest) {
  for (const char* text : {"", "0", "65536", "-1", "080", "80 default_server", "80;", "::1:80", "[::1]", "example.com:80", ":80",
                           "1.2.3:80", "1.2.3.4:", "1.2.3.4:80;x", "[1.2.3.4]:80", "[]:80"}) {
    EXPECT_THROW(parse_listen(text), UsageError) << text;
  }
}

TEST(Count, StaysInItsRange) {
  EXPECT_EQ(parse_count("0", 0, 10), 0U);
  EXPECT_EQ(parse_count("10", 0, 10), 10U);
  for (const char* text : {"", "11", "-1", "+1", "1.5", "1e1", "01", " 1", "1 ", "99999999999999999999", "1;"}) {
    EXPECT_THROW(parse_count(text, 0, 10), UsageError) << text;
  }
  EXPECT_THROW(parse_count("0", 1, 10), UsageError);
}

TEST(RateText, IsPerSecondOrMinute) {
  EXPECT_EQ(parse_rate("50/s"), "50/s");
  EXPECT_EQ(parse_rate("1000000/m"), "1000000/m");
  EXPECT_EQ(parse_rate("off"), "");
  for (const char* text : {"", "50", "0/s", "1000001/s", "50/h", "50/", "/s", "5/s;", "5 /s", "-5/s", "5/s/s"}) {
    EXPECT_THROW(parse_rate(text), UsageError) << text;
  }
}

TEST(NetworkText, ClearsTheBitsOfTheHost) {
  const std::pair<const char*, const char*> cases[] = {{"10.1.2.3/8", "10.0.0.0/8"},
                                                       {"192.0.2.7", "192.0.2.7/32"},
                                                       {"192.0.2.255/25", "192.0.2.128/25"},
                                                       {"0.0.0.0/0", "0.0.0.0/0"},
                                                       {"::1", "::1/128"},
                                                       {"2001:DB8::1/33", "2001:db8::/33"},
                                                       {"::/0", "::/0"}};
  for (const auto& [text, network] : cases) EXPECT_EQ(parse_network(text), network) << text;
}

TEST(NetworkText, RefusesTheRest) {
  for (const char* text :
       {"", "10.0.0.0/33", "10.0.0/8", "10.0.0.0/", "10.0.0.0/08", "::/129", "all", "10.0.0.0/8;", "1.2.3.4/-1", "::g/3"}) {
    EXPECT_THROW(parse_network(text), UsageError) << text;
  }
}

TEST(Prefix, BeginsWithASlash) {
  EXPECT_EQ(parse_prefix("/.well-known/"), "/.well-known/");
  EXPECT_EQ(parse_prefix("/a;\"$\\"), "/a;\"$\\");
  for (const char* text : {"", "api", "/a\nb", "/a\tb", "/\x7f"}) EXPECT_THROW(parse_prefix(text), UsageError) << text;
  EXPECT_THROW(parse_prefix("/" + std::string(1024, 'a')), UsageError);
}

TEST(HeaderName, IsLettersDigitsAndDashes) {
  EXPECT_EQ(parse_header_name("X-Real-IP"), "X-Real-IP");
  for (const char* text : {"", "X Real", "X_Real", "proxy_protocol", "X-Real;", "X:"})
    EXPECT_THROW(parse_header_name(text), UsageError) << text;
}

TEST(List, IsSpreadOverSpacesCommasAndFlags) {
  EXPECT_EQ(split_list({"/a /b,/c", " ", "/d"}), (std::vector<std::string>{"/a", "/b", "/c", "/d"}));
  EXPECT_TRUE(split_list({""}).empty());
}

}  // namespace
}  // namespace fairway::cli
