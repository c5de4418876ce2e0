// Calls of a gateway's API by HTTP, one after the other on one connection.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cli/api_address.h"

namespace fairway::cli {

using Json = nlohmann::ordered_json;  // in the order in which the API tells it

struct ApiAnswer {
  std::string text;  // as it came
  Json json;
};

// Every call throws UnreachableError when nobody answers (or in time), and RunError with the API's own sentence when it refuses;
// NotFoundError when it knows no room or queue of the path's name.
class ApiClient {
 public:
  // `seconds`: the longest a call may take. `stop` is asked while one runs, about once a second and after each signal; true ends it.
  explicit ApiClient(ApiAddress address, long seconds = 30, std::function<bool()> stop = nullptr);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // `path` as in `rooms/sale`, already fit for a URL.
  ApiAnswer get(std::string_view path);
  // PUT of what is there already: whoever mistypes a name makes nothing.
  ApiAnswer change(std::string_view path, const Json& body);
  // PUT, which makes what is not there.
  ApiAnswer make(std::string_view path, const Json& body);
  ApiAnswer post(std::string_view path, const Json& body);
  void remove(std::string_view path);
  const std::string& url() const;

 private:
  struct State;
  ApiAnswer call(const char* method, std::string_view path, const std::string* body, const char* condition = nullptr);

  std::unique_ptr<State> state_;
};

// What a refusal says to people: the sentence of a problem detail with the setting it is about, or what another server's answer means.
std::string refusal(long status, const std::string& body, const std::string& url);

}  // namespace fairway::cli
