#include <gtest/gtest.h>

#include "cli/nginx_check.h"

namespace fairway::cli {
namespace {

std::string emerg(const std::string& text) {
  return "nginx: [emerg] " + text + "\n";
}

bool explains(const std::string& complaint, const std::string& part) {
  return explain_nginx(emerg(complaint)).find(part) != std::string::npos;
}

TEST(ExplainNginx, ModuleThatDoesNotFit) {
  EXPECT_TRUE(explains("module \"/m.so\" version 1018000 instead of 1022001 in /c:1", "built for nginx 1.18.0, this is nginx 1.22.1"));
  EXPECT_TRUE(explains("module \"/m.so\" is not binary compatible in /c:1", "other options"));
  EXPECT_TRUE(explains("dlopen() \"/m.so\" failed (/m.so: undefined symbol: ngx_x) in /c:1",
                       "cannot load the module (/m.so: undefined symbol: ngx_x)"));
  EXPECT_TRUE(explains("unknown directive \"fair_queue\" in /c:9", "--concurrency"));
  EXPECT_TRUE(explains("unknown \"fair_queue_status\" variable", "--concurrency"));
  EXPECT_TRUE(explains("unknown directive \"waiting_room\" in /c:9", "does not know waiting_room"));
}

TEST(ExplainNginx, UpstreamWithoutAddress) {
  EXPECT_TRUE(explains("host not found in upstream \"nowhere.invalid:80\" in /c:70", "--upstream has no address: nowhere.invalid:80"));
}

TEST(ExplainNginx, PortsAndRights) {
  EXPECT_TRUE(explains("bind() to 127.0.0.1:80 failed (98: Address already in use)", "the port is taken"));
  EXPECT_TRUE(explains("bind() to 0.0.0.0:80 failed (13: Permission denied)", "need root"));
}

TEST(ExplainNginx, AnythingElseIsQuoted) {
  EXPECT_EQ(explain_nginx("2026/11/30 14:00:00 [emerg] 7#7: zone \"x\" is wrong\n"),
            "nginx does not take the configuration:\n  zone \"x\" is wrong");
  const std::string text =
      explain_nginx("nginx: [warn] something\n" + emerg("\"capacity\" must be a number in /c:3") + "nginx: test failed\n");
  EXPECT_EQ(text, "nginx does not take the configuration:\n  \"capacity\" must be a number in /c:3");
  EXPECT_NE(explain_nginx("cannot run /x: Exec format error\n").find("Exec format error"), std::string::npos);
  EXPECT_NE(explain_nginx("").find("it said nothing"), std::string::npos);
}

}  // namespace
}  // namespace fairway::cli
