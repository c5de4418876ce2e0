#include "cli/api_address.h"

#include <curl/curl.h>

#include <cstdlib>
#include <memory>

#include "cli/failure.h"
#include "cli/values.h"

namespace fairway::cli {
namespace {

constexpr const char* kForm = "the address of the API is http[s]://HOST[:PORT]/PATH/, as in http://localhost:8080/fairway/";

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

std::string part(const Url& url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return "";
  const std::unique_ptr<char, decltype(&curl_free)> owner(text, curl_free);
  return text;
}

void drop(const Url& url, CURLUPart which) {
  curl_url_set(url.get(), which, nullptr, 0);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

ApiAddress parse_api_address(std::string_view text) {
  refuse_control_characters(text);
  const Url url(curl_url(), curl_url_cleanup);
  if (!url) throw std::bad_alloc();
  if (curl_url_set(url.get(), CURLUPART_URL, std::string(text).c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) throw UsageError(kForm);
  const std::string scheme = part(url, CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https") throw UsageError(kForm);
  if (!part(url, CURLUPART_QUERY).empty() || !part(url, CURLUPART_FRAGMENT).empty()) throw UsageError(kForm);
  ApiAddress address;
  address.user = part(url, CURLUPART_USER, CURLU_URLDECODE);
  address.password = part(url, CURLUPART_PASSWORD, CURLU_URLDECODE);
  drop(url, CURLUPART_USER);
  drop(url, CURLUPART_PASSWORD);
  const std::string host = part(url, CURLUPART_HOST);
  address.here = host == "localhost" || host == "[::1]" || host.starts_with("127.");
  address.url = part(url, CURLUPART_URL);
  if (!address.url.ends_with('/')) address.url += '/';
  return address;
}

ApiAddress api_address(const std::string& flag) {
  std::string text = flag.empty() ? environment("FAIRWAY_API") : flag;
  if (text.empty()) text = kDefaultApi;
  ApiAddress address = parse_api_address(text);
  if (address.user.empty()) address.user = environment("FAIRWAY_API_USER");
  if (address.password.empty()) address.password = environment("FAIRWAY_API_PASSWORD");
  if (address.user.empty() && !address.password.empty()) address.user = "operator";
  return address;
}

}  // namespace fairway::cli
