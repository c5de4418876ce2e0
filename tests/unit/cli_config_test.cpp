#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "cli/console_config.h"
#include "cli/failure.h"
#include "cli/nginx_config.h"
#include "cli/nginx_quote.h"
#include "cli/store_option.h"

namespace fairway::cli {
namespace {

// What nginx's own reader makes of one argument, written after its documentation of the file format: the text of the argument, or nothing
// when `written` is not exactly one argument.
std::optional<std::string> read_as_nginx(std::string_view written) {
  std::string text;
  if (written.empty()) return std::nullopt;
  if (written.front() != '"') {
    constexpr std::string_view kMeaningful = " \t\r\n;{}\"'\\#$";
    if (written.find_first_of(kMeaningful) != std::string_view::npos) return std::nullopt;
    return std::string(written);
  }
  for (std::size_t i = 1; i < written.size(); ++i) {
    if (written[i] == '"') return i + 1 == written.size() ? std::optional(text) : std::nullopt;
    if (written[i] == '\\' && i + 1 < written.size()) {
      const char next = written[i + 1];
      if (next == 't' || next == 'r' || next == 'n') return std::nullopt;
      if (next == '"' || next == '\'' || next == '\\') ++i;
    }
    text += written[i];
  }
  return std::nullopt;
}

RunSettings example() {
  RunSettings settings;
  settings.upstream = parse_upstream("http://127.0.0.1:3000");
  settings.state = "/var/lib/example";
  return settings;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::string config_of(const RunSettings& settings, const Machine& machine = {}) {
  return nginx_config(settings, machine, Secrets::written);
}

RC_GTEST_PROP(NginxQuote, ReadsBackAsTheSameText, (const std::string& any)) {
  std::string text;
  for (const char c : any) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) text += c;
  }
  RC_ASSERT(read_as_nginx(nginx_quote(text)) == text);
}

TEST(NginxQuote, KeepsPlainWordsPlain) {
  EXPECT_EQ(nginx_quote("/var/lib/a-b_c.conf"), "/var/lib/a-b_c.conf");
  EXPECT_EQ(nginx_quote(""), "\"\"");
  EXPECT_EQ(nginx_quote("a;b"), "\"a;b\"");
  EXPECT_EQ(nginx_quote("a\"\\n"), "\"a\\\"\\\\n\"");
}

TEST(NginxQuote, RefusesLineBreaks) {
  for (const char* text : {"a\nb", "a\rb", "a\tb", "\x01", "\x7f"}) EXPECT_THROW(nginx_quote(text), UsageError);
}

TEST(NginxQuote, PatternsMatchLiterally) {
  EXPECT_EQ(nginx_prefix_pattern("/.well-known/"), "\"~^/[.]well-known/\"");
  EXPECT_EQ(nginx_prefix_pattern("/a$\";{"), "\"~^/a\\\\x24\\\\x22\\\\x3b\\\\x7b\"");
  EXPECT_EQ(nginx_prefix_pattern("/(.*)"), "\"~^/\\\\x28[.]\\\\x2a\\\\x29\"");
}

TEST(NginxConfig, HasNoRoomAndNoQueueUnlessAsked) {
  const std::string config = config_of(example());
  EXPECT_FALSE(contains(config, "waiting_room site"));
  EXPECT_FALSE(contains(config, "fair_queue"));
  EXPECT_FALSE(contains(config, "set_real_ip_from"));
  EXPECT_TRUE(contains(config, "proxy_set_header X-Forwarded-For $remote_addr;"));
  EXPECT_TRUE(contains(config, "proxy_set_header X-Forwarded-Proto $scheme;"));
  EXPECT_TRUE(contains(config, "listen 127.0.0.1:8080 default_server;"));
  EXPECT_TRUE(contains(config, "client_max_body_size 0;"));
  EXPECT_TRUE(contains(config, "fairway_keys /var/lib/example/keys;"));
}

TEST(NginxConfig, KeepsTheConsoleForThisMachine) {
  const std::string config = config_of(example());
  EXPECT_TRUE(contains(config, "    map \"$fairway_from_here$fairway_direct$http_x_forwarded_for\" $fairway_operator {\n"));
  EXPECT_TRUE(contains(config, "        if ($fairway_operator) {\n            rewrite ^/fairway/(.*)$ /.fairway-console/$1 last;"));
  EXPECT_TRUE(contains(config, "        location /.fairway-console/ {\n            internal;\n            fairway_api;\n        }\n"));
  EXPECT_TRUE(contains(config, "            internal;\n            fairway_metrics;\n        }\n"));
  EXPECT_TRUE(contains(config, "        waiting_room auto;"));
  EXPECT_FALSE(contains(config, "auth_basic"));
  EXPECT_FALSE(contains(config, "$fairway_from_office"));
}

TEST(NginxConfig, AsksOthersForAPassword) {
  RunSettings settings = example();
  settings.console_allow = {"10.0.0.0/8", "2001:db8::/32"};
  settings.proxy.header = "CF-Connecting-IP";
  Machine machine;
  EXPECT_TRUE(contains(config_of(settings, machine), "auth_basic_user_file /var/lib/example/work/console;\n"));
  machine.worker_user = "www-data";
  const std::string config = config_of(settings, machine);
  EXPECT_TRUE(contains(config, "auth_basic $fairway_realm;\n            auth_basic_user_file /proc/self/cwd/console;\n"));
  EXPECT_TRUE(contains(config, "        10.0.0.0/8 1;\n        2001:db8::/32 1;\n"));
  EXPECT_TRUE(contains(config, "$fairway_direct$http_cf_connecting_ip\""));
  EXPECT_TRUE(contains(config, "        if ($fairway_console) {\n"));
}

TEST(ConsolePassword, IsSaltedAndHashed) {
  const std::string line = password_line("hunter2");
  EXPECT_EQ(line.rfind("operator:{SSHA}", 0), 0U);
  EXPECT_EQ(line.size(), 15U + 40U);
  EXPECT_NE(line, password_line("hunter2"));
  EXPECT_FALSE(contains(line, "hunter2"));
}

TEST(NginxConfig, WritesTheRoom) {
  RunSettings settings = example();
  settings.capacity = 100;
  settings.rate = "10/s";
  settings.bypass = {"/.well-known/", "/robots.txt"};
  const std::string config = config_of(settings);
  EXPECT_TRUE(
      contains(config, "    waiting_room site {\n        capacity 100;\n        rate 10/s;\n        bypass $fairway_bypass;\n    }\n"));
  EXPECT_TRUE(contains(config, "        \"~^/robots[.]txt\" 1;\n"));
  EXPECT_TRUE(contains(config, "        waiting_room site;\n"));
}

TEST(NginxConfig, RoomWithoutBypassNeedsNoMap) {
  RunSettings settings = example();
  settings.capacity = 0;
  const std::string config = config_of(settings);
  EXPECT_TRUE(contains(config, "capacity 0;"));
  EXPECT_FALSE(contains(config, "fairway_bypass"));
}

TEST(NginxConfig, WritesTheQueueAndItsLogFields) {
  RunSettings settings = example();
  settings.concurrency = 8;
  const std::string config = config_of(settings);
  EXPECT_TRUE(contains(config, "    fair_queue app {\n        concurrency 8;\n    }\n"));
  EXPECT_TRUE(contains(config, "        fair_queue app;\n"));
  for (const char* name : {"status", "wait", "cost_ns", "cpu_ns", "debt", "outer", "inner"}) {
    EXPECT_TRUE(contains(config, "$fair_queue_" + std::string(name) + "\"")) << name;
  }
}

TEST(NginxConfig, LogCarriesTheRoomButNoCookiesAndNoQuery) {
  const std::string config = config_of(example());
  for (const char* name : {"state", "name", "rank", "session"})
    EXPECT_TRUE(contains(config, "$waiting_room_" + std::string(name) + "\"")) << name;
  for (const char* secret :
       {"$cookie", "$http_cookie", "$sent_http", "$args", "$query_string", "$request_uri", "\"$request\"", "authorization"}) {
    EXPECT_FALSE(contains(config, secret)) << secret;
  }
}

TEST(NginxConfig, TlsUpstreamGetsItsNameAndPath) {
  RunSettings settings = example();
  settings.upstream = parse_upstream("https://shop.example/base");
  const std::string config = config_of(settings);
  EXPECT_TRUE(contains(config, "server shop.example:443 max_fails=0;"));
  EXPECT_TRUE(contains(config, "proxy_pass https://fairway_upstream/base/;"));
  EXPECT_TRUE(contains(config, "proxy_ssl_server_name on;"));
  EXPECT_TRUE(contains(config, "proxy_ssl_name shop.example;"));
  EXPECT_TRUE(contains(config, "proxy_redirect /base/ /;"));
}

TEST(NginxConfig, BelowRootTheWorkersReachTheirFilesFromWhereTheyAre) {
  Machine machine;
  machine.worker_user = "www-data";
  machine.worker_group = "www-data";
  const std::string root = config_of(example(), machine);
  EXPECT_TRUE(contains(root, "user www-data www-data;"));
  EXPECT_TRUE(contains(root, "fairway_state room;"));
  EXPECT_TRUE(contains(root, "client_body_temp_path client_body;"));
  const std::string plain = config_of(example());
  EXPECT_FALSE(contains(plain, "user "));
  EXPECT_TRUE(contains(plain, "fairway_state /var/lib/example/work/room;"));
}

TEST(NginxConfig, ConnectionsFitTheOpenFiles) {
  Machine machine;
  machine.open_files = 1024;
  EXPECT_TRUE(contains(config_of(example(), machine), "worker_connections 960;"));
  machine.open_files = 1'000'000;
  EXPECT_TRUE(contains(config_of(example(), machine), "worker_connections 8192;"));
}

TEST(NginxConfig, PathsAreQuotedAndLineBreaksRefused) {
  RunSettings settings = example();
  settings.state = "/tmp/a \"b\"; load_module evil.so; #";
  EXPECT_TRUE(contains(config_of(settings), "pid \"/tmp/a \\\"b\\\"; load_module evil.so; #/nginx.pid\";"));
  settings.state = "/tmp/a\nload_module evil.so;";
  EXPECT_THROW(config_of(settings), UsageError);
  settings = example();
  settings.keys = "/tmp/a\n";
  EXPECT_THROW(config_of(settings), UsageError);
  settings = example();
  settings.access_log = "/tmp/$remote_addr";
  EXPECT_THROW(config_of(settings), UsageError);
}

TEST(NginxConfig, MasksPasswordsOnlyForShow) {
  RunSettings settings = example();
  settings.store = parse_store("valkey://bob:hunter2@db:6379/1 rediss://:hunter2@db2 password=hunter2", "/home");
  EXPECT_FALSE(contains(nginx_config(settings, {}, Secrets::masked), "hunter2"));
  EXPECT_TRUE(contains(nginx_config(settings, {}, Secrets::masked), "bob:****@db:6379/1"));
  EXPECT_TRUE(contains(config_of(settings), "fairway_store valkey://bob:hunter2@db:6379/1 rediss://:hunter2@db2 password=hunter2;"));
}

TEST(Store, MasksWhateverItIs) {
  const std::pair<const char*, const char*> cases[] = {{"memory", "memory"},
                                                       {"valkey://db:6379", "valkey://db:6379"},
                                                       {"valkey://u:p@db", "valkey://u:****@db"},
                                                       {"valkey://:p@db", "valkey://:****@db"},
                                                       {"valkey://p@db", "valkey://****@db"},
                                                       {"valkey://u:p@q/r@db", "valkey://u:****@db"},
                                                       {"password=p", "password=****"},
                                                       {"password=@/file", "password=@/file"},
                                                       {"timeout=250ms", "timeout=250ms"}};
  for (const auto& [argument, masked] : cases) EXPECT_EQ(mask_secret(argument), masked);
}

TEST(Store, TakesWhatTheDirectiveTakes) {
  EXPECT_EQ(parse_store("memory 64m", "/home"), (std::vector<std::string>{"memory", "64m"}));
  EXPECT_EQ(parse_store("  valkey://a   redis://b timeout=1s ", "/home"),
            (std::vector<std::string>{"valkey://a", "redis://b", "timeout=1s"}));
  EXPECT_EQ(parse_store("unix:/run/valkey.sock password=@pw ca=/etc/ca", "/home"),
            (std::vector<std::string>{"unix:/run/valkey.sock", "password=@/home/pw", "ca=/etc/ca"}));
  for (const char* text :
       {"", " ", "disk", "memory 64m x", "memory big", "timeout=1s", "valkey://a;b on", "valkey://a bogus=1", "valkey://a\nb"}) {
    EXPECT_THROW(parse_store(text, "/home"), UsageError) << text;
  }
}

TEST(FrontProxyPreset, KnowsItsProxies) {
  const FrontProxy cloudflare = front_proxy("cloudflare", {"10.0.0.0/8", "104.16.0.0/13"}, "");
  EXPECT_EQ(cloudflare.header, "CF-Connecting-IP");
  EXPECT_EQ(cloudflare.networks.size(), cloudflare_networks().size() + 1);  // one of the two is in the list already
  for (const auto network : cloudflare_networks()) EXPECT_EQ(parse_network(network), network);
  const FrontProxy nginx = front_proxy("nginx", {}, "X-Real-IP");
  EXPECT_EQ(nginx.header, "X-Real-IP");
  EXPECT_EQ(nginx.networks.size(), 2U);
  EXPECT_TRUE(front_proxy("", {}, "").networks.empty());
  EXPECT_THROW(front_proxy("apache", {}, ""), UsageError);
  EXPECT_THROW(front_proxy("", {}, "X-Real-IP"), UsageError);
}

TEST(NginxConfig, TrustedProxiesSpeakForTheirClients) {
  RunSettings settings = example();
  settings.proxy = front_proxy("", {"10.0.0.0/8"}, "");
  const std::string config = config_of(settings);
  EXPECT_TRUE(contains(config, "    set_real_ip_from 10.0.0.0/8;\n    real_ip_header X-Forwarded-For;\n    real_ip_recursive on;\n"));
  EXPECT_TRUE(contains(config, "        10.0.0.0/8 1;\n"));
  EXPECT_TRUE(contains(config, "proxy_set_header X-Forwarded-Proto $fairway_forwarded_proto;"));
}

}  // namespace
}  // namespace fairway::cli
