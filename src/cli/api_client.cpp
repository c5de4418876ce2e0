#include "cli/api_client.h"

#include <curl/curl.h>

#include <array>
#include <new>
#include <utility>

#include "cli/failure.h"
#include "cli/table.h"

namespace fairway::cli {
namespace {

constexpr std::size_t kMostBytes = std::size_t{64} * 1024 * 1024;
constexpr long kConnectSeconds = 5;

struct Received {
  std::string text;
  bool too_long = false;
};

std::size_t receive(const char* data, std::size_t, std::size_t bytes, void* context) {
  auto& received = *static_cast<Received*>(context);
  received.too_long = received.text.size() + bytes > kMostBytes;
  if (received.too_long) return 0;
  received.text.append(data, bytes);
  return bytes;
}

int asked_to_stop(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& stop = *static_cast<const std::function<bool()>*>(context);
  return stop && stop() ? 1 : 0;
}

using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

Headers headers_of(const std::string* body, const char* condition) {
  curl_slist* list = curl_slist_append(nullptr, "Accept: application/json");
  if (body != nullptr) list = curl_slist_append(list, "Content-Type: application/json");
  if (condition != nullptr) list = curl_slist_append(list, condition);
  return {list, curl_slist_free_all};
}

Json parsed(const std::string& text) {
  return Json::parse(text, nullptr, false);
}

std::string text_of(const Json& body) {
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The API's own 404, and its 412: the only condition here is that the thing is there.
bool says_missing(long status, const std::string& text) {
  if (status != 404 && status != 412) return false;
  const Json problem = parsed(text);
  return problem.is_object() && problem.contains("detail");
}

// What programs are told of a value's form says nothing to somebody at a command line.
std::string without_form(std::string detail) {
  for (const std::string_view form : {", as a JSON number", ", as a JSON string"}) {
    if (const std::size_t at = detail.find(form); at != std::string::npos) detail.erase(at, form.size());
  }
  return detail;
}

std::string field_of(const Json& problem, const char* key) {
  const auto at = problem.find(key);
  return at != problem.end() && at->is_string() ? printable(at->get<std::string>()) : "";
}

}  // namespace

struct ApiClient::State {
  State(ApiAddress address_given, std::function<bool()> stop_given) : address(std::move(address_given)), stop(std::move(stop_given)) {
    if (!handle) throw std::bad_alloc();
  }

  ApiAddress address;
  std::function<bool()> stop;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle{curl_easy_init(), curl_easy_cleanup};
};

ApiClient::ApiClient(ApiAddress address, long seconds, std::function<bool()> stop)
    : state_(std::make_unique<State>(std::move(address), std::move(stop))) {
  CURL* curl = state_->handle.get();
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, seconds);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "fairway");
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, asked_to_stop);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &state_->stop);
  if (state_->address.here) curl_easy_setopt(curl, CURLOPT_PROXY, "");
  if (!state_->address.user.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(curl, CURLOPT_USERNAME, state_->address.user.c_str());
    curl_easy_setopt(curl, CURLOPT_PASSWORD, state_->address.password.c_str());
  }
}

ApiClient::~ApiClient() = default;

ApiAnswer ApiClient::get(std::string_view path) {
  return call("GET", path, nullptr);
}

ApiAnswer ApiClient::change(std::string_view path, const Json& body) {
  const std::string text = text_of(body);
  return call("PUT", path, &text, "If-Match: *");
}

ApiAnswer ApiClient::make(std::string_view path, const Json& body) {
  const std::string text = text_of(body);
  return call("PUT", path, &text);
}

ApiAnswer ApiClient::post(std::string_view path, const Json& body) {
  const std::string text = text_of(body);
  return call("POST", path, &text);
}

void ApiClient::remove(std::string_view path) {
  call("DELETE", path, nullptr);
}

const std::string& ApiClient::url() const {
  return state_->address.url;
}

ApiAnswer ApiClient::call(const char* method, std::string_view path, const std::string* body, const char* condition) {
  CURL* curl = state_->handle.get();
  const std::string url = this->url() + "api/" + std::string(path);
  const Headers headers = headers_of(body, condition);
  Received received;
  std::array<char, CURL_ERROR_SIZE> trouble{};
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &received);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, trouble.data());
  curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);  // takes the body of an earlier call away
  if (body != nullptr) {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->c_str());
  }
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
  const CURLcode code = curl_easy_perform(curl);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  if (received.too_long) throw RunError(url + " answers with more than a gateway's API does");
  if (code != CURLE_OK) {
    const std::string why = trouble.front() != 0 ? trouble.data() : curl_easy_strerror(code);
    throw UnreachableError("no gateway answers at " + this->url() + ": " + printable(why));
  }
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (says_missing(status, received.text)) throw NotFoundError(refusal(status, received.text, this->url()));
  if (status >= 300) throw RunError(refusal(status, received.text, this->url()));
  ApiAnswer answer{std::move(received.text), {}};
  if (status == 204) return answer;
  answer.json = parsed(answer.text);
  if (!answer.json.is_object()) throw RunError("what answers at " + this->url() + " is not a gateway's API");
  return answer;
}

std::string refusal(long status, const std::string& body, const std::string& url) {
  const Json problem = parsed(body);
  if (problem.is_object() && problem.contains("detail")) {
    const std::string detail = without_form(field_of(problem, "detail"));
    const std::string field = field_of(problem, "field");
    return field.empty() || detail.find(field) != std::string::npos ? detail : field + ": " + detail;
  }
  const std::string told = " (status " + std::to_string(status) + ")";
  if (status == 401) return url + " wants another user and password: set FAIRWAY_API_USER and FAIRWAY_API_PASSWORD" + told;
  if (status == 403) return url + " does not allow this from here" + told;
  if (status == 404) return "there is no API at " + url + ": --api or FAIRWAY_API tells where it is" + told;
  return "what answers at " + url + " is not a gateway's API" + told;
}

}  // namespace fairway::cli
