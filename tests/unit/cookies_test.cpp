#include "core/cookies.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace fairway::test {
namespace {

std::vector<std::string> find(std::string_view header, std::string_view name) {
  std::string_view found[kMaxSameCookies];
  const std::size_t count = find_cookies(header, name, found);
  return {found, found + count};
}

using Strings = std::vector<std::string>;

struct Stripped {
  std::string text;
  bool removed;

  bool operator==(const Stripped&) const = default;
  friend std::ostream& operator<<(std::ostream& out, const Stripped& value) {
    return out << '"' << value.text << "\" removed=" << value.removed;
  }
};

Stripped strip(const std::string& header) {
  std::string out(header.size(), '?');
  const StrippedCookies result = strip_cookies(header, out, [](std::string_view, std::string_view) {});
  return {out.substr(0, result.size), result.removed};
}

// "name=value" of each cookie that was taken out.
Strings taken(const std::string& header) {
  std::string out(header.size(), '?');
  Strings all;
  strip_cookies(header, out,
                [&all](std::string_view name, std::string_view value) { all.push_back(std::string(name).append("=").append(value)); });
  return all;
}

TEST(Cookies, FindsExactNames) {
  EXPECT_EQ(find("a=1; b=2; c=3", "b"), Strings{"2"});
  EXPECT_EQ(find("a=1; b=2; c=3", "B"), Strings{});
  EXPECT_EQ(find("ab=1; b=2", "b"), Strings{"2"});
  EXPECT_EQ(find("bb=1", "b"), Strings{});
  EXPECT_EQ(find("", "b"), Strings{});
  EXPECT_EQ(find("b", "b"), Strings{""});
  EXPECT_EQ(find("b=", "b"), Strings{""});
  EXPECT_EQ(find("x=b=2", "b"), Strings{});
  EXPECT_EQ(find("b=x=y", "b"), Strings{"x=y"});
}

TEST(Cookies, TellsWhatItTakesOut) {
  EXPECT_EQ(taken("a=1; fairway_pass_a=x; fairway_ticket_b = y ;fairway_pass_a=z; b=2; fairway_pass_c"),
            (Strings{"fairway_pass_a=x", "fairway_ticket_b=y", "fairway_pass_a=z", "fairway_pass_c="}));
  EXPECT_EQ(taken("a=1; fairway=2; Fairway_pass_a=3"), Strings{});
}

TEST(Cookies, ToleratesBlanksAndKeepsQuotes) {
  EXPECT_EQ(find("a=1;b=2", "b"), Strings{"2"});
  EXPECT_EQ(find(" \t b \t= \t2 \t;a=1", "b"), Strings{"2"});
  EXPECT_EQ(find(";; ;b=2;;", "b"), Strings{"2"});
  EXPECT_EQ(find("b=\"2\"", "b"), Strings{"\"2\""});
  EXPECT_EQ(find("b=\"x; b=2", "b"), (Strings{"\"x", "2"})) << "a quote does not hide a cookie";
  EXPECT_EQ(find("b=1,b=2", "b"), Strings{"1,b=2"}) << "a comma does not separate";
}

TEST(Cookies, FindsFourOfOneName) {
  EXPECT_EQ(find("b=1; b=2; a=0; b=3; b=4; b=5", "b"), (Strings{"1", "2", "3", "4"}));
}

TEST(Cookies, StripsOnlyItsOwn) {
  const auto kept = [](const std::string& header) { return Stripped{header, false}; };
  for (const char* header :
       {"a=1", "a=1; b=2", "a=1;b=2", " a = 1 ;  b=\"2; c\" ; ", "fairway=1; fairwa_pass_x=1; Fairway_pass_sale=1; xfairway_pass_sale=1",
        "a=fairway_pass_sale=1", "a=1,fairway_pass_sale=2", "fairway_ticket", "fairway_tickets_x=1"}) {
    EXPECT_EQ(strip(header), kept(header));
  }
}

TEST(Cookies, StripsAtEveryPlace) {
  EXPECT_EQ(strip("fairway_pass_sale=x"), (Stripped{"", true}));
  EXPECT_EQ(strip("fairway_pass_sale=x; fairway_ticket_sale=y"), (Stripped{"", true}));
  EXPECT_EQ(strip("fairway_pass_sale=x; a=1"), (Stripped{"a=1", true}));
  EXPECT_EQ(strip("a=1; fairway_pass_sale=x"), (Stripped{"a=1", true}));
  EXPECT_EQ(strip("a=1; fairway_ticket_sale=x; b=2"), (Stripped{"a=1; b=2", true}));
  EXPECT_EQ(strip("a=1;fairway_ticket_sale=x;b=2"), (Stripped{"a=1;b=2", true}));
  EXPECT_EQ(strip("a=1; fairway_ticket_sale=x; fairway_ticket_other=y;  b=2; fairway_pass_=z"), (Stripped{"a=1;  b=2", true}));
  EXPECT_EQ(strip("  fairway_ticket_sale  = x ; a=1"), (Stripped{"a=1", true}));
  EXPECT_EQ(strip("fairway_ticket_sale"), (Stripped{"", true})) << "without a value it is still ours";
}

TEST(Cookies, BlanksAloneAreNothing) {
  EXPECT_EQ(strip(""), (Stripped{"", false}));
  EXPECT_EQ(strip(" ; ; "), (Stripped{"", false}));
  EXPECT_EQ(strip("; fairway_pass_sale=x ; "), (Stripped{"", true}));
}

rc::Gen<std::string> headers() {
  const auto piece = rc::gen::oneOf(rc::gen::element<std::string>("fairway_ticket_sale=v1.k.q", "fairway_pass_a=", " fairway_pass_b = 1",
                                                                  "fairway_pass", "a=1", " b=2", "", " ", "=", "fairway_ticket_sale"),
                                    rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab= \t\"_,"))),
                                    rc::gen::map(rc::gen::arbitrary<std::string>(), [](std::string text) {
                                      std::erase(text, ';');
                                      return text;
                                    }));
  return rc::gen::map(rc::gen::container<Strings>(piece), [](const Strings& pieces) {
    std::string header;
    for (const std::string& text : pieces) header += (header.empty() ? "" : ";") + text;
    return header;
  });
}

RC_GTEST_PROP(CookiesProperty, StrippingTakesOursAndNothingElse, ()) {
  const std::string header = *headers();
  const Stripped stripped = strip(header);
  Strings expected;
  CookieReader before(header);
  while (before.next()) {
    const bool ours = before.name().starts_with(kTicketCookie) || before.name().starts_with(kPassCookie);
    if (!ours && !(before.name().empty() && before.value().empty()))
      expected.push_back(std::string(before.name()) + "=" + std::string(before.value()));
  }
  Strings left;
  CookieReader after(stripped.text);
  while (after.next()) {
    if (!(after.name().empty() && after.value().empty())) left.push_back(std::string(after.name()) + "=" + std::string(after.value()));
  }
  RC_ASSERT(left == expected);
  if (!stripped.removed && !stripped.text.empty()) RC_ASSERT(stripped.text == header);
  RC_ASSERT(!strip(stripped.text).removed);
}

RC_GTEST_PROP(CookiesProperty, WhatIsSetIsFound, ()) {
  const std::string before = *headers();
  const std::string after = *headers();
  const auto found = find(before + "; fairway_pass_q=\"v 1\" ;" + after, "fairway_pass_q");
  RC_ASSERT(found == Strings{"\"v 1\""});
}

}  // namespace
}  // namespace fairway::test
