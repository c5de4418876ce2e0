#include "nginx/api.h"

#include "nginx/api_answer.h"
#include "nginx/console.h"

namespace fairway::ngx {

namespace {

constexpr off_t kMaxBody = kMaxApiBody;

struct Route {
  std::string_view path;  // "*" stands for a name
  ngx_uint_t method;      // GET is HEAD too
  ApiAnswer (*call)(ApiCall& call);
};

constexpr Route kRoutes[] = {
    {"rooms", NGX_HTTP_GET, list_rooms},
    {"rooms/*", NGX_HTTP_GET, show_room},
    {"rooms/*", NGX_HTTP_PUT, put_room},
    {"rooms/*", NGX_HTTP_DELETE, delete_room},
    {"rooms/*/mode", NGX_HTTP_POST, set_mode},
    {"rooms/*/evict", NGX_HTTP_POST, evict},
    {"rooms/*/history", NGX_HTTP_GET, room_history},
    {"queues", NGX_HTTP_GET, list_queues},
    {"queues/*", NGX_HTTP_GET, show_queue},
    {"queues/*", NGX_HTTP_PUT, put_queue},
    {"queues/*/flows", NGX_HTTP_GET, show_flows},
    {"queues/*/history", NGX_HTTP_GET, queue_history},
    {"health", NGX_HTTP_GET, health},
    {"events", NGX_HTTP_GET, list_events},
    {"openapi.json", NGX_HTTP_GET, openapi},
};

// Whether `path` is of the form; the part in place of the star.
bool matches(std::string_view form, std::string_view path, std::string_view& name) noexcept {
  const std::size_t star = form.find('*');
  if (star == std::string_view::npos) {
    return form == path;
  }
  const std::string_view before = form.substr(0, star);
  const std::string_view after = form.substr(star + 1);
  if (path.size() <= before.size() + after.size() || !path.starts_with(before) || !path.ends_with(after)) {
    return false;
  }
  name = path.substr(before.size(), path.size() - before.size() - after.size());
  return name.find('/') == std::string_view::npos;
}

constexpr std::pair<ngx_uint_t, std::string_view> kMethods[] = {
    {NGX_HTTP_GET, "GET, HEAD"}, {NGX_HTTP_PUT, "PUT"}, {NGX_HTTP_POST, "POST"}, {NGX_HTTP_DELETE, "DELETE"}};

struct Found {
  const Route* route = nullptr;
  std::string_view name;
  std::string allow;  // of the path; empty: there is no such path
};

Found find_route(ngx_uint_t method, std::string_view path) {
  Found found;
  ngx_uint_t methods = 0;
  for (const Route& route : kRoutes) {
    if (matches(route.path, path, found.name)) {
      methods |= route.method;
      if (route.method == method || (route.method == NGX_HTTP_GET && method == NGX_HTTP_HEAD)) {
        found.route = &route;
      }
    }
  }
  for (const auto& [bit, name] : kMethods) {
    if ((methods & bit) != 0) {
      found.allow.append(found.allow.empty() ? "" : ", ").append(name);
    }
  }
  return found;
}

constexpr std::string_view kApi = "api/";

// What follows the location's own path.
std::string_view path_below(ngx_http_request_t* r) noexcept {
  std::string_view path = view(r->uri);
  path.remove_prefix(std::min(loc_conf(r)->endpoint_prefix.len, path.size()));
  if (path.starts_with('/')) {
    path.remove_prefix(1);
  }
  return path;
}

// NGX_DONE: the answer comes later, and takes the request's count with it.
ngx_int_t run(ApiCall& call, const Route& route) {
  call.worker.live().follow();
  ApiAnswer answer = route.call(call);
  if (answer.go_on) {
    return begin_later(call.r, call.visit, std::move(answer));
  }
  return send_answer(call.r, call.visit, answer);
}

bool is_json(ngx_http_request_t* r) noexcept {
  if (r->headers_in.content_type == nullptr) {
    return false;
  }
  std::string_view type = view(r->headers_in.content_type->value);
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) {
    type.remove_suffix(1);
  }
  constexpr std::string_view kJson = "application/json";
  return type.size() == kJson.size() && ngx_strncasecmp(reinterpret_cast<u_char*>(const_cast<char*>(type.data())),
                                                        reinterpret_cast<u_char*>(const_cast<char*>(kJson.data())), kJson.size()) == 0;
}

// A body of unknown length would be written to disk without end: this location has no limit of nginx's.
bool has_unmeasured_body(ngx_http_request_t* r) noexcept {
  return r->headers_in.content_length_n < 0 && (r->headers_in.chunked || (r->stream != nullptr && !r->stream->in_closed));
}

// What a request that changes something has to show before its body is read.
void check_write(ngx_http_request_t* r, const Visit& visit) {
  if (!is_same_origin(r, visit)) {
    throw Refusal{403, "Changes are taken from pages of this host only: the browser says that this one comes from another site.", ""};
  }
  if (r->method == NGX_HTTP_DELETE && !has_unmeasured_body(r) && r->headers_in.content_length_n <= kMaxBody) {
    return;
  }
  if (r->method != NGX_HTTP_DELETE && !is_json(r)) {
    throw Refusal{415, "The body must be JSON, with \"Content-Type: application/json\".", ""};
  }
  if (r->headers_in.content_length_n < 0) {
    throw Refusal{411, "The length of the body must be told in Content-Length.", ""};
  }
  if (r->headers_in.content_length_n > kMaxBody) {
    throw Refusal{413, "The body may have at most 65536 bytes.", ""};
  }
}

std::string body_text(ngx_http_request_t* r) {
  std::string text;
  for (ngx_chain_t* part = r->request_body == nullptr ? nullptr : r->request_body->bufs; part != nullptr; part = part->next) {
    if (part->buf->in_file) {
      throw Refusal{413, "The body may have at most 65536 bytes.", ""};  // cannot be: the buffer holds that many
    }
    text.append(reinterpret_cast<const char*>(part->buf->pos), static_cast<std::size_t>(part->buf->last - part->buf->pos));
  }
  return text;
}

Json parse_body(const std::string& text) {
  try {
    Json body = Json::parse(text);
    if (body.is_object()) {
      return body;
    }
  } catch (const nlohmann::json::parse_error& error) {
    throw Refusal{400, "The body is not JSON: it " + operate::where_json_ends(error.byte, text.size()) + ".", ""};
  }
  throw Refusal{400, R"(The body must be a JSON object, such as {"capacity": 100}.)", ""};
}

// Once the body of a change is there.
void on_body(ngx_http_request_t* r) noexcept {
  Visit* visit = get_visit(r);
  Worker* worker = Worker::get();
  if (visit == nullptr || worker == nullptr) {
    ngx_http_finalize_request(r, NGX_HTTP_INTERNAL_SERVER_ERROR);
    return;
  }
  const ngx_int_t rc = guarded(r, *visit, [&] {
    if (!is_newest(worker->conf())) {
      throw reloaded();
    }
    const Found found = find_route(r->method, path_below(r).substr(kApi.size()));
    ApiCall call{r, *visit, *worker, found.name, {}};
    if (r->method != NGX_HTTP_DELETE) {
      call.body = parse_body(body_text(r));
    }
    return run(call, *found.route);
  });
  if (rc != NGX_DONE) {
    ngx_http_finalize_request(r, rc);
  }
}

ngx_int_t answer(ngx_http_request_t* r, Visit& visit, Worker& worker) {
  const std::string_view path = path_below(r);
  if (!path.starts_with(kApi)) {
    return console(r, visit, worker, path);
  }
  const Found found = find_route(r->method, path.substr(kApi.size()));
  if (found.allow.empty()) {
    throw Refusal{404, "There is no such resource; api/openapi.json tells what there is.", ""};
  }
  if (found.route == nullptr) {
    return send_problem(r, visit, {405, "This resource takes " + found.allow + ".", ""}, found.allow);
  }
  if (is_read(r)) {
    ApiCall call{r, visit, worker, found.name, {}};
    return run(call, *found.route);
  }
  check_write(r, visit);
  const ngx_int_t rc = ngx_http_read_client_request_body(r, on_body);
  return rc >= NGX_HTTP_SPECIAL_RESPONSE ? rc : NGX_DONE;
}

}  // namespace

ngx_int_t api_handler(ngx_http_request_t* r) noexcept {
  Visit* visit = get_visit(r);
  Worker* worker = Worker::get();
  if (visit == nullptr || worker == nullptr || (!visit->read && read_request(r, *visit) != NGX_OK)) {
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  return guarded(r, *visit, [&] { return answer(r, *visit, *worker); });
}

}  // namespace fairway::ngx
