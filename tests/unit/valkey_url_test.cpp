#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "store/valkey/url.h"

namespace fairway::valkey {
namespace {

std::optional<Config> parse(std::vector<std::string_view> words, std::string* message = nullptr) {
  std::string error;
  auto config = parse_config(words, error);
  EXPECT_EQ(config.has_value(), error.empty()) << error;
  if (message != nullptr) *message = error;
  return config;
}

std::string error_of(std::vector<std::string_view> words) {
  std::string error;
  EXPECT_FALSE(parse(std::move(words), &error)) << "no error";
  return error;
}

TEST(ValkeyUrl, PlainHostHasTheDefaults) {
  const auto config = parse({"valkey://store.example"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->endpoints, (std::vector<Endpoint>{{"store.example", 6379, {}}}));
  EXPECT_FALSE(config->tls);
  EXPECT_TRUE(config->verify);
  EXPECT_EQ(config->database, 0U);
  EXPECT_EQ(config->timeout, 250'000);
  EXPECT_EQ(config->breaker, 3'000'000);
  EXPECT_TRUE(config->user.empty() && config->password.empty() && config->password_file.empty() && config->sentinel.empty());
}

TEST(ValkeyUrl, EverythingInAUrl) {
  const auto config =
      parse({"rediss://us%65r:p%40ss:w%2Ford@[2001:db8::1]:7000/12", "timeout=1s", "breaker=1500ms", "ca=/etc/ca.pem", "verify=off"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->endpoints, (std::vector<Endpoint>{{"2001:db8::1", 7000, {}}}));
  EXPECT_EQ(config->user, "user");
  EXPECT_EQ(config->password, "p@ss:w/ord");
  EXPECT_EQ(config->database, 12U);
  EXPECT_TRUE(config->tls);
  EXPECT_FALSE(config->verify);
  EXPECT_EQ(config->ca, "/etc/ca.pem");
  EXPECT_EQ(config->timeout, 1'000'000);
  EXPECT_EQ(config->breaker, 1'500'000);
}

TEST(ValkeyUrl, PasswordWithoutUser) {
  const auto config = parse({"redis://:secret@host"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->user, "");
  EXPECT_EQ(config->password, "secret");
}

TEST(ValkeyUrl, AUserWhosePasswordIsInAFile) {
  const auto config = parse({"valkey://us%65r@host", "valkey://user@other", "password=@/etc/fairway/password"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->user, "user");
  EXPECT_EQ(config->password, "");
  EXPECT_EQ(config->password_file, "/etc/fairway/password");
}

TEST(ValkeyUrl, UnixSocket) {
  const auto config = parse({"unix:/run/redis/redis.sock", "password=@/etc/fairway/password"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->endpoints.front().path, "/run/redis/redis.sock");
  EXPECT_EQ(config->password_file, "/etc/fairway/password");
}

TEST(ValkeyUrl, SeveralSeedsShareWhatTheFirstSays) {
  const auto config = parse({"valkey://u:p@one", "valkey://two:7001", "valkey://u:p@three:7002/"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->endpoints, (std::vector<Endpoint>{{"one", 6379, {}}, {"two", 7001, {}}, {"three", 7002, {}}}));
  EXPECT_EQ(config->password, "p");
}

TEST(ValkeyUrl, SentinelsHaveTheirOwnPortAndMayHaveADatabase) {
  const auto config = parse({"valkey://s1/3", "valkey://s2:1234", "sentinel=mymaster"});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->sentinel, "mymaster");
  EXPECT_EQ(config->endpoints[0].port, 26379);
  EXPECT_EQ(config->endpoints[1].port, 1234);
  EXPECT_EQ(config->database, 3U);
}

TEST(ValkeyUrl, ErrorsSayWhatIsAllowed) {
  EXPECT_NE(error_of({}).find("URL is missing"), std::string::npos);
  EXPECT_NE(error_of({"timeout=1s"}).find("URL is missing"), std::string::npos);
  EXPECT_NE(error_of({"http://x"}).find("valkeys://"), std::string::npos);
  EXPECT_NE(error_of({"valkey://"}).find("host is missing"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h:0"}).find("1 to 65535"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h:65536"}).find("1 to 65535"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h:"}).find("1 to 65535"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h:+1"}).find("1 to 65535"), std::string::npos);
  EXPECT_NE(error_of({"valkey://[::1"}).find("[address]"), std::string::npos);
  EXPECT_NE(error_of({"valkey://[::1]x"}).find("[address]"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h/x"}).find("database"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h/70000"}).find("65535"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h/0/1"}).find("database"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h?x=1"}).find("'?'"), std::string::npos);
  EXPECT_NE(error_of({"valkey://u@h"}).find("user:password"), std::string::npos);
  EXPECT_NE(error_of({"valkey://u:@h"}).find("empty"), std::string::npos);
  EXPECT_NE(error_of({"valkey://@h"}).find("empty"), std::string::npos);
  EXPECT_NE(error_of({"valkey://u@a", "valkey://v@b", "password=@/f"}).find("same user"), std::string::npos);
  EXPECT_NE(error_of({"valkey://u:p@a", "password=@/f"}).find("twice"), std::string::npos);
  EXPECT_NE(error_of({"valkey://u:%4@h"}).find("hex"), std::string::npos);
  EXPECT_NE(error_of({"unix:relative"}).find("unix:/path"), std::string::npos);
  EXPECT_NE(error_of({"unix:/a", "valkey://h"}).find("unix"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "unix:/a"}).find("unix"), std::string::npos);
  EXPECT_NE(error_of({"unix:/a", "sentinel=m"}).find("sentinel"), std::string::npos);
  EXPECT_NE(error_of({"valkey://a", "valkeys://b"}).find("TLS"), std::string::npos);
  EXPECT_NE(error_of({"valkey://u:p@a", "valkey://u:q@b"}).find("same user"), std::string::npos);
  EXPECT_NE(error_of({"valkey://a/1", "valkey://b/2"}).find("same database"), std::string::npos);
  EXPECT_NE(error_of({"valkey://a/1", "valkey://b"}).find("database 0"), std::string::npos);
  EXPECT_NE(error_of({"valkey://a", "valkey://a"}).find("twice"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "timeout=0"}).find("1ms to 60s"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "timeout=61s"}).find("1ms to 60s"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "timeout=5days"}).find("1ms to 60s"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "breaker=2h"}).find("1ms to 1h"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "breaker=99999999999999999999s"}).find("1ms to 1h"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "timeout=1s", "timeout=2s"}).find("twice"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "verify=off"}).find("valkeys://"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "ca=/x"}).find("valkeys://"), std::string::npos);
  EXPECT_NE(error_of({"valkeys://h", "verify=maybe"}).find("on or off"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "password=secret"}).find("@FILE"), std::string::npos);
  EXPECT_NE(error_of({"valkey://:p@h", "password=@/f"}).find("twice"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "sentinel="}).find("name of the master"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h", "colour=red"}).find("unknown word"), std::string::npos);
  EXPECT_NE(error_of({"valkey://h o"}).find("space"), std::string::npos);
}

TEST(ValkeyUrl, EndpointsAreWrittenAsTheyAreRead) {
  EXPECT_EQ(to_string({"host", 6379, {}}), "host:6379");
  EXPECT_EQ(to_string({"::1", 6379, {}}), "[::1]:6379");
  EXPECT_EQ(to_string({{}, 0, "/run/x"}), "unix:/run/x");
}

RC_GTEST_PROP(ValkeyUrl, AnyWordsGiveAConfigOrAnErrorWithoutThePassword, ()) {
  const auto tail = *rc::gen::container<std::string>(rc::gen::element('a', ':', '/', '@', '[', ']', '%', '4', '0', '=', '?', '.', '\x7f'));
  const std::string word = *rc::gen::element<std::string>("valkey://", "rediss://x:hunter2@", "unix:", "timeout=", "") + tail;
  std::string error;
  const std::string_view words[] = {word};
  const auto config = parse_config(words, error);
  RC_ASSERT(config.has_value() == error.empty());
  RC_ASSERT(error.find("hunter2") == std::string::npos);
  if (config) RC_ASSERT(!config->endpoints.empty());
}

RC_GTEST_PROP(ValkeyUrl, WhatIsWrittenIsReadAgain, ()) {
  const auto host = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z')));
  const auto port = *rc::gen::inRange<int>(1, 65536);
  const auto password = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange(0, 256)));
  std::string url = "valkey://:";
  for (const char c : password) {
    char hex[4];
    std::snprintf(hex, sizeof hex, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    url += hex;
  }
  url += '@' + host + ':' + std::to_string(port);
  std::string error;
  const std::string_view words[] = {url};
  const auto config = parse_config(words, error);
  RC_ASSERT(config);
  RC_ASSERT(config->password == password);
  RC_ASSERT(config->endpoints.front() == (Endpoint{host, static_cast<std::uint16_t>(port), {}}));
}

}  // namespace
}  // namespace fairway::valkey
