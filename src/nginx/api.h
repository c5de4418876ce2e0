// The JSON API below a location with `fairway_api`: one call, its answer, and what is common to all of them. A call throws Refusal for
// what it will not do; nothing else than that and std::bad_alloc leaves it, and neither leaves api.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "nginx/answer.h"
#include "nginx/worker.h"
#include "operate/settings_json.h"

namespace fairway::ngx {

using operate::Json;

inline constexpr std::size_t kMaxApiBody = 64 * 1024;  // bytes

struct ApiCall {
  ngx_http_request_t* r;
  Visit& visit;
  Worker& worker;
  std::string_view name;  // of the room or queue, when the path has one
  Json body;              // an object; of PUT and POST

  // A whole number of the query; `otherwise` when it is not there. Throws Refusal when it is something else.
  std::uint64_t number(std::string_view argument, std::uint64_t low, std::uint64_t high, std::uint64_t otherwise) const;
  RoomConf& room() const;    // throws Refusal: 404
  QueueConf& queue() const;  // likewise
  std::string from() const;  // the network the request came from
  // Throws Refusal: 412, when the request wants another state than that of `etag`.
  void check_match(std::string_view etag) const;
};

struct ApiAnswer {
  ngx_uint_t status = 200;
  Json json;
  std::string text;  // in place of `json`
  std::string etag;
  std::string location;
  // When set, the answer comes later: called again and again, each time for a few milliseconds at most, until it says true; it fills in
  // the rest of this answer then. What waits for something posts `wake` when it is there.
  std::function<bool(ApiAnswer&)> go_on;
  ngx_event_t* wake = nullptr;
  bool waits = false;  // nothing to be done before the wake
};

struct Refusal {
  ngx_uint_t status;
  std::string detail;  // a sentence that helps
  std::string field;
};

// While nginx reloads, workers of the earlier configuration still get requests, but do not know what counts now.
inline Refusal reloaded() {
  return {503,
          "nginx has just been reloaded, and this connection is still with the earlier configuration: nothing was done. Send it again.",
          ""};
}

// Content handler of the location.
ngx_int_t api_handler(ngx_http_request_t* r) noexcept;

// The calls.
ApiAnswer list_rooms(ApiCall& call);
ApiAnswer show_room(ApiCall& call);
ApiAnswer put_room(ApiCall& call);
ApiAnswer delete_room(ApiCall& call);
ApiAnswer set_mode(ApiCall& call);
ApiAnswer evict(ApiCall& call);
ApiAnswer room_history(ApiCall& call);
ApiAnswer list_queues(ApiCall& call);
ApiAnswer show_queue(ApiCall& call);
ApiAnswer put_queue(ApiCall& call);
ApiAnswer show_flows(ApiCall& call);
ApiAnswer queue_history(ApiCall& call);
ApiAnswer health(ApiCall& call);
ApiAnswer list_events(ApiCall& call);
ApiAnswer openapi(ApiCall& call);

// Short and strong: the same for the same settings, whatever the counters say.
std::string etag_of(const Json& settings);

// Changes the adjustments in one step: `edit` gets the latest and tells what it did, a sentence each; it is called again when another
// worker or gateway was faster. `then` makes the answer once the change is effective in every worker, saved, noted in the events, and,
// what concerns rooms, given to a shared store, from where the other gateways take it; that may be later.
using Edit = std::function<std::vector<std::string>(ApiCall&, operate::Adjustments&)>;
using Then = std::function<ApiAnswer(ApiCall&)>;
ApiAnswer change(ApiCall& call, Edit edit, Then then);

}  // namespace fairway::ngx
