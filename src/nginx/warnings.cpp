#include "nginx/warnings.h"

#include <system_error>

#include "nginx/queue_worker.h"

namespace fairway::ngx {

namespace {

bool lately(std::int64_t then, std::int64_t now) noexcept {
  return then != 0 && now - then < OneAddress::kQuiet;
}

// One part in so many of the memory store free: sessions that come now may be the last ones.
constexpr std::size_t kNearlyFull = 10;

void about_memory(Worker& worker, std::vector<Warning>& all) {
  if (worker.store() != nullptr) {
    return;
  }
  const std::size_t free = worker.free_memory();
  const std::size_t size = worker.conf().memory;
  const bool was_full = lately(worker.shared().last_full_log.load(std::memory_order_relaxed), ngx_time());
  if (free < size / kNearlyFull || was_full) {
    all.push_back({"store_full", std::string(was_full ? "The store had no memory for newcomers in the last hour, who got the busy answer"
                                                      : "The store is nearly full") +
                                     ": " + std::to_string(free / 1024) + "k of " + std::to_string(size / 1024) +
                                     "k are left for sessions. Give \"fairway_store memory\" more, or lower \"max_waiting\"."});
  }
}

std::string not_saved(const MainConf& conf, const char* what, const SaveTrouble& trouble) {
  const auto why = std::generic_category().message(trouble.error.load(std::memory_order_relaxed));
  return std::string(what) + " cannot be saved in \"" + std::string(view(conf.state)) + "\" (" + why +
         "). Everything counts now, in every worker, but would be lost with nginx: make room there or mend the folder. It is tried again "
         "every "
         "few seconds.";
}

void about_saving(Worker& worker, std::vector<Warning>& all) {
  const MainConf& conf = worker.conf();
  const Shared& shared = worker.shared();
  if (conf.keep_state && !shared.board->is_saved() && shared.board->trouble.error.load() != 0) {
    all.push_back({"state_not_saved", not_saved(conf, "What operators changed last", shared.board->trouble)});
  }
  if (conf.keep_state && shared.trouble.error.load() != 0) {
    all.push_back({"state_not_saved", not_saved(conf, "What the rooms remember of visitors", shared.trouble)});
  }
}

void about_files(const MainConf& conf, std::vector<Warning>& all) {
  if (conf.keys_exposed) {
    all.push_back(
        {"keys_exposed", "The keys file \"" + std::string(view(conf.keys_file)) + "\" is open to other users: set its mode to 0600."});
  }
  if (!conf.keep_state) {
    all.push_back({"state_not_saved", "The state folder \"" + std::string(view(conf.state)) +
                                          "\" cannot be used: changes and what the rooms remember are lost with nginx."});
  }
}

void about_rooms(Worker& worker, std::vector<Warning>& all) {
  for (const RoomConf* room : worker.live().rooms()) {
    const std::string name(view(room->name));
    const bool attached = !worker.live().adjustment(*room).attach.empty();
    if (!room->attached && !attached) {
      all.push_back({"room_unattached",
                     "Room " + name + " is attached to nothing: no location of nginx.conf uses it, and no host is attached to it."});
    } else if (!room->attached && !worker.conf().any_auto) {
      all.push_back(
          {"room_unattached", "Room " + name + " is attached to hosts, but no location of nginx.conf has \"waiting_room auto\"."});
    }
    if (lately(room->row->held_post.load(std::memory_order_relaxed), ngx_time())) {
      all.push_back({"post_held", "Room " + name +
                                      " has held a POST from another site or from a program in the last hour: such paths (bank returns, "
                                      "notifications) belong under \"waiting_room off\"."});
    }
    if (lately(room->row->passed_on.load(std::memory_order_relaxed), ngx_time())) {
      all.push_back({"session_passed_on", "A session of room " + name +
                                              " was seen from more than 8 networks in the last hour: its cookies may have been passed on "
                                              "(\"bind_network on\" forbids that)."});
    }
    if (lately(room->row->poll_flood.load(std::memory_order_relaxed), ngx_time())) {
      all.push_back(
          {"poll_flood",
           "Room " + name +
               " has refused more than 100 status checks within a second in the last hour: somebody asks far more often than told."});
    }
  }
}

void about_shared_settings(Worker& worker, std::vector<Warning>& all) {
  for (const auto& [room, why] : worker.live().refused()) {
    std::string detail = "Room ";
    all.push_back({"settings_not_fitting", detail.append(room).append(": ").append(why).append(".")});
  }
  if (worker.shared().settings_not_shared.load(std::memory_order_relaxed)) {
    all.push_back(
        {"settings_not_shared",
         "The store answers but does not take what operators change, or holds what this gateway does not understand: changes of rooms "
         "are refused, and those of other gateways do not count here. The log says why."});
  }
}

void about_keys(Worker& worker, std::vector<Warning>& all) {
  const OtherGateways others = other_gateways(worker);
  if (!others.foreign_keys.empty()) {
    all.push_back(
        {"foreign_keys", "Another gateway of the store signs with a key that is not in the keys file here, or not with that secret (" +
                             others.foreign_keys + "): whoever has come by it starts anew here. All gateways need the same keys file."});
  }
  if (others.key_unknown) {
    all.push_back(
        {"key_unknown_elsewhere",
         "Another gateway of the store does not have the key that this one signs with: whoever has come by this one starts anew there. "
         "All gateways need the same keys file."});
  }
}

void about_queues(Worker& worker, std::vector<Warning>& all) {
  const auto now = static_cast<std::int64_t>(ngx_current_msec / 1'000) + 1;  // OneAddress counts so
  for (const QueueConf* queue : worker.live().queues()) {
    const std::string name(view(queue->name));
    const QueueClient* client = QueueWorker::client(*queue);
    if (client != nullptr && lately(client->shared().one_address.warned.load(std::memory_order_relaxed), now)) {
      all.push_back(
          {"one_address", "Nearly all requests to fair queue " + name +
                              " come from one address: is \"set_real_ip_from\" missing, or does one client send nearly everything?"});
    }
    if (!queue->attached) {
      all.push_back({"queue_unused", "Fair queue " + name + " is used by no location."});
    } else if (!queue->has_upstream) {
      all.push_back(
          {"queue_without_upstream", "Fair queue " + name + " is used by locations without an upstream only: it has nothing to share."});
    }
  }
}

}  // namespace

OtherGateways other_gateways(Worker& worker) {
  const Shared& shared = worker.shared();
  char foreign[sizeof(shared.foreign_keys)];
  OtherGateways others;
  {
    const Lock lock(worker.zone());
    others.count = shared.other_gateways;
    others.key_unknown = shared.key_unknown;
    std::memcpy(foreign, shared.foreign_keys, sizeof(foreign));
  }
  others.foreign_keys = foreign;
  return others;
}

std::vector<Warning> warnings_of(Worker& worker) {
  std::vector<Warning> all;
  about_files(worker.conf(), all);
  about_saving(worker, all);
  about_memory(worker, all);
  about_rooms(worker, all);
  about_shared_settings(worker, all);
  about_keys(worker, all);
  about_queues(worker, all);
  if (lately(worker.shared().one_address.warned.load(std::memory_order_relaxed), static_cast<std::int64_t>(ngx_current_msec / 1'000) + 1)) {
    all.push_back(
        {"one_address",
         "Nearly all requests come from one address: is \"set_real_ip_from\" missing, or does one client send nearly everything?"});
  }
  return all;
}

}  // namespace fairway::ngx
