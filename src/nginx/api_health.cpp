// The API's health: the store, the keys, and what the gateway itself finds wrong.
#include "nginx/api.h"
#include "nginx/openapi.h"
#include "nginx/warnings.h"

namespace fairway::ngx {

namespace {

Json store_json(Worker& worker) {
  if (worker.store() != nullptr) {
    const bool open = worker.shared().breaker.open();
    return {{"kind", "shared"},
            {"reachable", !open},
            {"breaker", open ? "open" : "closed"},
            {"outages", worker.shared().breaker.outages()},
            {"other_gateways", other_gateways(worker).count}};
  }
  const Lock lock(worker.zone());
  const MemoryStore& store = *worker.shared().store;
  return {{"kind", "memory"},
          {"reachable", true},
          {"breaker", "closed"},
          {"bytes", worker.conf().memory},
          {"free_bytes", store.free_for_sessions()},
          {"rebuilt", store.rebuilt()}};
}

}  // namespace

ApiAnswer health(ApiCall& call) {
  Json keys = Json::array();
  for (const Key& key : call.worker.keys().keys()) {
    keys.push_back(key.id);
  }
  Json warnings = Json::array();
  for (const Warning& warning : warnings_of(call.worker)) {
    warnings.push_back({{"code", warning.code}, {"detail", warning.detail}});
  }
  ApiAnswer answer;
  answer.json = {
      {"status", warnings.empty() ? "ok" : "warning"},
      {"version", FAIRWAY_VERSION},
      {"nginx", NGINX_VERSION},
      {"time", ngx_time()},
      {"client_address", view(call.r->connection->addr_text)},
      {"host", host_of(call.r)},
      {"store", store_json(call.worker)},
      {"keys", {{"signing", call.worker.keys().signing().id}, {"all", std::move(keys)}}},
      {"settings", {{"version", call.worker.live().version()}, {"saved", call.worker.settings_saved()}}},
      {"warnings", std::move(warnings)},
  };
  return answer;
}

ApiAnswer openapi(ApiCall&) {
  ApiAnswer answer;
  answer.text = openapi_text();
  return answer;
}

}  // namespace fairway::ngx
