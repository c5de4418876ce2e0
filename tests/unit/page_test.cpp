// The visitor's pages: language, escaping, numbers and words, templates.
#include "page/page.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace fairway::page {
namespace {

constexpr std::array kAllLanguages{Language::en, Language::de, Language::fr, Language::es, Language::ja, Language::ko, Language::zh};
constexpr std::array kAllKinds{Kind::waiting, Kind::busy, Kind::closed, Kind::unavailable, Kind::left, Kind::cookies, Kind::unprocessed};

Values sample() {
  Values values;
  values.room = "sale";
  values.status_url = "/__fairway/sale/status";
  values.leave_url = "/__fairway/sale/leave";
  values.rank = 1342;
  values.waiting = 52100;
  values.eta = 420;
  values.retry_after = 1200;
  return values;
}

std::string rendered(std::string_view html, const Values& values, Language language = Language::en) {
  std::string out;
  Template(html).render(values, language, out);
  return out;
}

std::string page(Kind kind, const Values& values, Language language = Language::en) {
  std::string out;
  builtin(kind, language).render(values, language, out);
  return out;
}

std::string without(std::string text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
  return text;
}

std::string between(const std::string& text, std::string_view begin, std::string_view end) {
  const auto from = text.find(begin);
  if (from == std::string::npos) return {};
  const auto start = from + begin.size();
  return text.substr(start, text.find(end, start) - start);
}

std::string sha256_source(const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::array<unsigned char, 64> base64{};
  EVP_EncodeBlock(base64.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" + std::string(reinterpret_cast<const char*>(base64.data())) + "'";
}

TEST(Language, BestQualityWinsAndTheFirstOfEquals) {
  EXPECT_EQ(choose_language("de"), Language::de);
  EXPECT_EQ(choose_language("fr;q=0.3, ja;q=0.9, en;q=0.5"), Language::ja);
  EXPECT_EQ(choose_language("ko, de, en"), Language::ko);
  EXPECT_EQ(choose_language("en;q=0.001,es;q=0.002"), Language::es);
  EXPECT_EQ(choose_language("de;q=0, fr;q=0.1"), Language::fr);
  EXPECT_EQ(choose_language("de ; q=0.5 ,\tes; q=0.8"), Language::es);
  EXPECT_EQ(choose_language("de;level=1;q=0.2, fr;q=0.3"), Language::fr);
}

TEST(Language, RegionsAndScriptsFallBackToTheLanguage) {
  EXPECT_EQ(choose_language("zh-TW"), Language::zh);
  EXPECT_EQ(choose_language("zh-Hant-HK,en;q=0.5"), Language::zh);
  EXPECT_EQ(choose_language("DE-at"), Language::de);
  EXPECT_EQ(choose_language("pt-BR, es-MX;q=0.9, en;q=0.8"), Language::es);
}

TEST(Language, StarStandsForThoseNotNamed) {
  EXPECT_EQ(choose_language("*"), Language::en);
  EXPECT_EQ(choose_language("en;q=0, *"), Language::de);
  EXPECT_EQ(choose_language("*;q=0.1, ko;q=0.2"), Language::ko);
  EXPECT_EQ(choose_language("it, *;q=0"), Language::en);
}

TEST(Language, EnglishWhenNothingFitsOrNothingIsSaid) {
  for (const char* header : {"", " ", ",", ",,;;", "it, pt;q=0.9", "deutsch", "d", "de;q=2", "de;q=0.1234", "de;q=", "de;q=x", "de;q=-1",
                             "de;q=1.5", "de;q=01", "de;q=0,5", "-de", "de_AT", "\xff\xfe\x80", "de;q=0"})
    EXPECT_EQ(choose_language(header), Language::en) << header;
}

TEST(Language, OneBadItemDoesNotSpoilTheOthers) {
  EXPECT_EQ(choose_language("fr;q=9, de;q=0.1"), Language::de);
  EXPECT_EQ(choose_language(";;;,=,q=1,ja"), Language::ja);
}

TEST(Language, OnlyTheFirstThousandBytesCount) {
  EXPECT_EQ(choose_language(std::string(998, ' ') + "de"), Language::de);
  EXPECT_EQ(choose_language(std::string(1000, ' ') + "de"), Language::en);
  EXPECT_EQ(choose_language(std::string(1'000'000, ',') + "de"), Language::en);
}

RC_GTEST_PROP(Language, AnyBytesGiveALanguage, ()) {
  const auto sign = rc::gen::oneOf(rc::gen::arbitrary<char>(), rc::gen::elementOf(std::string("dezh-*;q=0.1, ")));
  RC_ASSERT(static_cast<std::size_t>(choose_language(*rc::gen::container<std::string>(sign))) < kLanguages);
}

TEST(Language, TagsAreTheirNames) {
  std::string tags;
  for (const Language language : kAllLanguages) {
    tags += tag(language);
    EXPECT_EQ(choose_language(tag(language)), language);
  }
  EXPECT_EQ(tags, "endefresjakozh");
}

TEST(Template, FillsEveryPlace) {
  Values values = sample();
  values.message = "see you";
  EXPECT_EQ(rendered("{{room}}|{{status_url}}|{{leave_url}}|{{rank}}|{{waiting}}|{{eta}}|{{message}}|{{retry_after}}|{{lang}}", values),
            "sale|/__fairway/sale/status|/__fairway/sale/leave|1,342|52,100|about 5 to 9 minutes|see you|1200|en");
}

TEST(Template, LeavesEverythingElseAlone) {
  const Values values = sample();
  for (const char* text : {"", "{{", "}}", "{{}}", "{{other}}", "{{ rank }}", "{{Rank}}", "{{rank}", "{ {rank}}", "{{rank", "{{style}}",
                           "{{script}}", "{{}}{{"})
    EXPECT_EQ(rendered(text, values), text);
  EXPECT_EQ(rendered("{{{rank}}}", values), "{1,342}");
  EXPECT_EQ(rendered("{{x{{lang}}", values), "{{xen");
  EXPECT_EQ(rendered("{{lang}}{{lang}}", values), "enen");
}

TEST(Template, AppendsAndMayBeCopied) {
  std::string out = "before ";
  auto first = std::make_optional<Template>("{{lang}}");
  const Template second = *first;
  first.reset();
  second.render(sample(), Language::ja, out);
  EXPECT_EQ(out, "before ja");
}

TEST(Template, ValuesCannotLeaveTheirPlace) {
  Values values = sample();
  values.message = "\"><script>alert('x')</script>&amp;{{room}}";
  EXPECT_EQ(rendered("<p title=\"{{message}}\">", values),
            "<p title=\"&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;{{room}}\">");
  values.message = std::string_view("a\0b", 3);
  EXPECT_EQ(rendered("{{message}}", values),
            "a\xef\xbf\xbd"
            "b");
}

RC_GTEST_PROP(Template, EveryTextIsEscapedInEveryPlace, (const std::string& text)) {
  Values values = sample();
  values.room = values.status_url = values.leave_url = values.retry_url = values.message = text;
  const std::string out = rendered("{{room}}{{status_url}}{{leave_url}}{{retry_url}}{{message}}{{json}}", values);
  RC_ASSERT(out.find_first_of(std::string_view("<>\"'\0", 5)) == std::string::npos);
}

TEST(Template, NumbersAreGroupedAsTheLanguageDoes) {
  const auto numbers = [](Language language) {
    Values values = sample();
    values.waiting = 1234567;
    return rendered("{{rank}} {{waiting}}", values, language);
  };
  EXPECT_EQ(numbers(Language::en), "1,342 1,234,567");
  EXPECT_EQ(numbers(Language::de), "1.342 1.234.567");
  EXPECT_EQ(numbers(Language::fr), "1\u202f342 1\u202f234\u202f567");
  EXPECT_EQ(numbers(Language::es), "1342 1.234.567");
  EXPECT_EQ(numbers(Language::ja), "1,342 1,234,567");
}

TEST(Template, ARankThatIsNotToldIsADash) {
  Values values = sample();
  values.rank = 0;
  EXPECT_EQ(rendered("{{rank}}", values), "\u2014");
}

TEST(Template, FlagsNameWhatAPageMayShow) {
  Values values = sample();
  EXPECT_EQ(rendered("{{flags}}", values), "silent");
  values.message = "hello";
  EXPECT_EQ(rendered("{{flags}}", values), "");
  values.paused = values.stale = true;
  values.rank = 0;
  EXPECT_EQ(rendered("{{flags}}", values), "paused stale unranked");
  values.rank = 100000;
  EXPECT_EQ(rendered("{{flags}}", values), "paused stale long");
}

TEST(Template, EstimatesAreWordedAsInTheSharedList) {
  std::ifstream list(FAIRWAY_UNIT_TESTS "/estimates.txt");
  int checked = 0;
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string seconds, name, words;
    ASSERT_TRUE(std::getline(fields, seconds, '\t') && std::getline(fields, name, '\t') && std::getline(fields, words)) << line;
    Values values = sample();
    values.eta = seconds == "-" ? std::nullopt : std::optional(static_cast<std::uint32_t>(std::stoul(seconds)));
    EXPECT_EQ(rendered("{{eta}}", values, choose_language(name)), words) << line;
    ++checked;
  }
  EXPECT_GT(checked, 40);
}

TEST(Json, HasTheOneShape) {
  Values values = sample();
  std::string out;
  append_json(values, "waiting", {}, out);
  EXPECT_EQ(
      out,
      R"({"room":"sale","state":"waiting","rank":1342,"waiting":52100,"eta":420,"retry_after":1200,"paused":false,"stale":false,"message":null})");
  values.rank = 0;
  values.eta.reset();
  values.paused = values.stale = true;
  values.message = "a \"b\" \\ \n\x01";
  out.clear();
  append_json(values, "waiting", "v1.k", out);
  EXPECT_EQ(
      out,
      R"({"room":"sale","state":"waiting","rank":null,"waiting":52100,"eta":null,"retry_after":1200,"paused":true,"stale":true,"message":"a \"b\" \\ \u000a\u0001","ticket":"v1.k"})");
  out.clear();
  append_json(sample(), "busy", {}, out);
  EXPECT_EQ(out, R"({"room":"sale","state":"busy","retry_after":1200,"paused":false,"stale":false,"message":null})");
}

TEST(Builtin, EveryPageIsWholeInEveryLanguage) {
  Values values = sample();
  values.message = "words of the operator";
  std::vector<std::string> seen;
  for (const Kind kind : kAllKinds) {
    for (const Language language : kAllLanguages) {
      const std::string html = page(kind, values, language);
      EXPECT_EQ(html.rfind("<!doctype html>\n<html lang=\"" + std::string(tag(language)) + "\">", 0), 0u);
      EXPECT_EQ(html.find("{{"), std::string::npos) << html;
      EXPECT_EQ(html.find("[["), std::string::npos) << html;
      EXPECT_NE(html.find("</html>"), std::string::npos);
      EXPECT_LT(html.size(), 17'000u);
      const std::string heading = between(html, "<title>", "</title>");
      EXPECT_EQ(std::count(seen.begin(), seen.end(), heading), 0) << heading;
      seen.push_back(heading);
    }
  }
}

TEST(Builtin, TheWaitingPageTellsAllThatIsKnown) {
  Values values = sample();
  values.message = "Doors open at 8";
  const std::string html = page(Kind::waiting, values, Language::de);
  for (const char* part : {"<title>1.342 ", "<b id=\"rank\">1.342</b>", "52.100", "etwa 5 bis 9 Minuten", "Doors open at 8",
                           "data-status=\"/__fairway/sale/status\"", "<form method=\"post\" action=\"/__fairway/sale/leave\">",
                           "<noscript><meta http-equiv=\"refresh\" content=\"1200\"></noscript>", "&quot;rank&quot;:1342"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
}

TEST(Builtin, PagesThatAnswerAPostNeverGoOnByThemselves) {
  for (const Kind kind : {Kind::unprocessed, Kind::left, Kind::cookies}) {
    const std::string html = page(kind, sample());
    EXPECT_EQ(html.find("http-equiv"), std::string::npos);
    EXPECT_EQ(html.find("<script"), std::string::npos);
  }
}

TEST(Builtin, TheCookiesPageLeadsToThePageAskedFor) {
  Values values = sample();
  values.retry_url = "/shop?a=1&b=\"2\"";
  EXPECT_NE(page(Kind::cookies, values).find("href=\"/shop?a=1&amp;b=&quot;2&quot;\""), std::string::npos);
}

TEST(Builtin, ValuesCannotLeaveTheirPlace) {
  const std::string bad = "\"'><script>alert(1)</script><style>x</style>";
  Values values;
  values.room = values.status_url = values.leave_url = values.retry_url = values.message = bad;
  for (const Kind kind : kAllKinds) {
    const std::string html = page(kind, values);
    const std::string harmless = page(kind, Values{});
    EXPECT_EQ(html.find("alert(1)</"), std::string::npos);
    EXPECT_EQ(std::count(html.begin(), html.end(), '<'), std::count(harmless.begin(), harmless.end(), '<'));
    EXPECT_EQ(std::count(html.begin(), html.end(), '"'), std::count(harmless.begin(), harmless.end(), '"'));
  }
}

TEST(Policy, AllowsTheStyleAndScriptOfThePagesAndNothingElse) {
  const std::string policy(builtin_policy());
  for (const Kind kind : kAllKinds) {
    const std::string html = page(kind, sample(), Language::fr);
    EXPECT_NE(policy.find("style-src " + sha256_source(between(html, "<style>", "</style>"))), std::string::npos);
    EXPECT_EQ(without(html, "<style>").find("<style"), std::string::npos);
    if (html.find("<script") != std::string::npos) {
      EXPECT_NE(policy.find("script-src " + sha256_source(between(html, "<script>", "</script>"))), std::string::npos);
    }
  }
  EXPECT_EQ(policy.rfind("default-src 'none'; ", 0), 0u);
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(policy.find_first_of("\r\n"), std::string::npos);
}

TEST(Policy, ACustomPageKeepsToItsOwnOrigin) {
  const std::string policy(custom_policy());
  EXPECT_EQ(policy.rfind("default-src 'self' 'unsafe-inline'; ", 0), 0u);
  for (const char* part : {"object-src 'none'", "base-uri 'none'", "form-action 'self'", "frame-ancestors 'self'"})
    EXPECT_NE(policy.find(part), std::string::npos) << part;
  EXPECT_EQ(policy.find("http"), std::string::npos);
  EXPECT_EQ(policy.find('*'), std::string::npos);
}

}  // namespace
}  // namespace fairway::page
