// The API's rooms: what they are, and changes of their settings and modes.
#include <algorithm>
#include <cmath>
#include <memory>

#include "nginx/api.h"
#include "nginx/store_client.h"
#include "nginx/store_order.h"
#include "operate/shared_adjustments.h"
#include "operate/values.h"

namespace fairway::ngx {

namespace {

using operate::Adjustments;
using operate::Problem;
using operate::RoomAdjustment;
using operate::RoomSettings;

struct Figures {
  room::Summary summary;
  RateEstimator rate;
};

Figures figures_of(Worker& worker, const RoomConf& room) noexcept {
  const RoomRow& row = *room.row;
  const Lock lock(worker.zone());
  return {row.summary, row.rate};
}

// Everything that PUT takes, as GET shows it.
Json settings_of(Worker& worker, const RoomConf& room) {
  const RoomAdjustment& adjustment = worker.live().adjustment(room);
  Json settings = operate::settings_json(operate::room_fields(), static_cast<const RoomSettings&>(room), worker.live().overrides(room));
  settings["attach"] = operate::attach_json(adjustment.attach);
  return settings;
}

std::string etag_of_room(Worker& worker, const RoomConf& room) {
  return etag_of({settings_of(worker, room), operate::mode_name(room.settings.mode), worker.live().is_made(room)});
}

// Seconds until somebody who came now would be called; null when that cannot be told.
Json newcomers_wait(const RoomConf& room, const Figures& figures) {
  const room::Settings& settings = room.settings;
  const std::uint64_t taken = std::uint64_t{figures.summary.inside} + figures.summary.reserved;
  const bool free = figures.summary.waiting == 0 && taken < settings.capacity && !figures.summary.recovering;
  if (settings.mode == room::Mode::open || (settings.mode == room::Mode::normal && free)) {
    return 0;
  }
  if (settings.mode != room::Mode::normal || settings.capacity == 0) {
    return nullptr;
  }
  const double limit = settings.rate_window == 0 ? 0 : static_cast<double>(settings.rate) * 1e6 / static_cast<double>(settings.rate_window);
  const auto wait = figures.rate.wait(std::uint64_t{figures.summary.waiting} + 1, limit);
  return wait ? Json(*wait) : Json(nullptr);
}

Json store_json(Worker& worker) {
  return {{"kind", worker.store() == nullptr ? "memory" : "shared"}, {"reachable", !worker.shared().breaker.open()}};
}

Json room_json(Worker& worker, const RoomConf& room) {
  Live& live = worker.live();
  const Figures figures = figures_of(worker, room);
  const room::Summary& summary = figures.summary;
  const double per_second = std::round(figures.rate.per_second() * 100) / 100;
  return {
      {"name", view(room.name)},
      {"defined", live.is_made(room) ? "console" : "nginx.conf"},
      {"mode", operate::mode_name(room.settings.mode)},
      {"inside", summary.inside},
      {"reserved", summary.reserved},
      {"granted", summary.granted},
      {"waiting", summary.waiting},
      {"admitted_total", summary.admitted_total},
      {"abandoned_total", summary.abandoned_total},
      {"admissions_per_second", per_second},
      {"eta", newcomers_wait(room, figures)},
      {"recovering", summary.recovering},
      {"store", store_json(worker)},
      {"settings", settings_of(worker, room)},
      {"file", operate::file_json(operate::room_fields(), live.overrides(room))},
      {"saved", worker.settings_saved()},
  };
}

ApiAnswer answer_of(Worker& worker, const RoomConf& room) {
  ApiAnswer answer;
  answer.json = room_json(worker, room);
  answer.etag = etag_of_room(worker, room);
  return answer;
}

void refuse(const std::optional<Problem>& problem) {
  if (problem) {
    throw Refusal{422, problem->detail + ".", problem->field};
  }
}

// Who else has a place of `attach`: a request belongs to one room.
void refuse_taken_places(const Adjustments& all, std::string_view name, const RoomAdjustment& room) {
  for (const auto& [other, adjustment] : all.rooms) {
    for (const operate::Attachment& place : room.attach) {
      if (other != name && std::ranges::find(adjustment.attach, place) != adjustment.attach.end()) {
        throw Refusal{409, place.host + place.path + " is attached to room " + other + " already.", "attach"};
      }
    }
  }
}

// What the body says, over `adjustment`.
void take_body(const Json& body, const RoomSettings& file, RoomAdjustment& adjustment) {
  for (const auto& [name, value] : body.items()) {
    if (name == "attach") {
      refuse(operate::take_attach(value, adjustment.attach));
      continue;
    }
    const auto* field = operate::find_field(operate::room_fields(), name);
    if (name == "page") {
      throw Refusal{422, "\"page\" can be set in nginx.conf only: it would show visitors any file that the gateway may read.", name};
    }
    if (name == "bypass") {
      throw Refusal{422, "\"bypass\" can be set in nginx.conf only, since nginx takes variables only while it reads that.", name};
    }
    if (field == nullptr) {
      throw Refusal{422, name == "mode" ? "\"mode\" is changed with POST api/rooms/NAME/mode." : "There is no setting of that name.", name};
    }
    refuse(operate::take(*field, value, file, adjustment.made, adjustment.fields));
  }
  RoomSettings after = file;
  refuse(operate::apply(operate::room_fields(), adjustment.fields, after));
  refuse(operate::check_together(after));
  if (adjustment.made && !adjustment.fields.contains("capacity")) {
    throw Refusal{422, "\"capacity\" is missing: it must be a whole number from 0 to 10000000.", "capacity"};
  }
}

// Lets a change of the settings take effect on those who wait.
void touch(Worker& worker, const RoomConf& room) noexcept {
  if (worker.store() != nullptr) {
    worker.store()->refresh(room);
  } else if (worker.row(room).memory().epoch != 0) {
    worker.call(room, {}, {});
  }
}

// What never said anything needs no entry; what once did keeps its version.
void erase_idle(Adjustments& all, const std::string& name) {
  const auto entry = all.rooms.find(name);
  if (entry->second.says_nothing() && entry->second.version == 0) {
    all.rooms.erase(entry);
  }
}

void refuse_new_room(ApiCall& call) {
  if (!operate::is_room_name(call.name)) {
    throw Refusal{422, "The name of a room must be 1 to 32 of a-z, 0-9 and \"-\", and neither \"auto\" nor \"off\".", "name"};
  }
  if (call.worker.live().rooms().size() >= Shared::kRooms) {
    throw Refusal{409, "There are " + std::to_string(Shared::kRooms) + " rooms, which is the most.", ""};
  }
  if (call.r->headers_in.if_match != nullptr) {
    throw Refusal{412, "There is no room of that name to be changed.", ""};
  }
}

}  // namespace

ApiAnswer list_rooms(ApiCall& call) {
  ApiAnswer answer;
  Json rooms = Json::array();
  Json tags = Json::array();
  for (const RoomConf* room : call.worker.live().rooms()) {
    rooms.push_back(room_json(call.worker, *room));
    tags.push_back(etag_of_room(call.worker, *room));
  }
  answer.json = {{"rooms", std::move(rooms)}};
  answer.etag = etag_of(tags);
  return answer;
}

ApiAnswer show_room(ApiCall& call) {
  return answer_of(call.worker, call.room());
}

namespace {

// Tells what was done, as edits do. `created`: whether there was no room of that name.
std::vector<std::string> edit_room(ApiCall& call, Adjustments& all, bool& created) {
  Live& live = call.worker.live();
  const RoomConf* room = live.find(call.name);
  created = room == nullptr;
  if (created) {
    refuse_new_room(call);
  } else {
    call.check_match(etag_of_room(call.worker, *room));
  }
  const std::string name(call.name);
  RoomAdjustment& adjustment = all.rooms[name];
  if (created) {
    adjustment = {};
  }
  const RoomAdjustment before = adjustment;
  adjustment.made = adjustment.made || created;
  const RoomSettings file = created ? RoomSettings{} : live.file(*room);
  take_body(call.body, file, adjustment);
  const std::string told = operate::difference(before, adjustment, file);
  if (created && !call.worker.fits_room()) {
    throw Refusal{503, "The store has no memory left for one more room: nothing was changed. Give \"fairway_store memory\" more.", ""};
  }
  refuse_taken_places(all, call.name, adjustment);
  erase_idle(all, name);
  return {"room " + name + (created ? " made" + (told.empty() ? "" : ": " + told) : ": " + told)};
}

ApiAnswer answer_of_put(ApiCall& call, bool created) {
  const RoomConf& room = call.room();
  touch(call.worker, room);
  ApiAnswer answer = answer_of(call.worker, room);
  if (created) {
    answer.status = NGX_HTTP_CREATED;
    const std::string_view asked = view(call.r->unparsed_uri);  // the site may have rewritten it
    answer.location = asked.substr(0, asked.find('?'));
  }
  return answer;
}

// Once it is gone from the settings: everybody in it.
ApiAnswer empty_room(ApiCall& call, const RoomConf& room) {
  const auto order = std::make_shared<StoreOrder>(call.worker, room);
  if (call.worker.store() != nullptr) {  // the store's own memory of the room ends by itself: it stays, empty
    order->cut({{}, true});
  }
  ApiAnswer answer;
  const auto forgotten = std::make_shared<bool>(false);
  answer.go_on = [&worker = call.worker, &room, order, forgotten](ApiAnswer& later) {
    order->set_wake(later.wake);
    later.waits = order->waits();
    later.status = NGX_HTTP_NO_CONTENT;
    if (later.waits) {
      return false;
    }
    return std::exchange(*forgotten, true) ? worker.clean_store() : worker.forget(room);
  };
  return answer;
}

}  // namespace

ApiAnswer put_room(ApiCall& call) {
  const auto created = std::make_shared<bool>();
  return change(
      call, [created](ApiCall& its, Adjustments& all) { return edit_room(its, all, *created); },
      [created](ApiCall& its) { return answer_of_put(its, *created); });
}

ApiAnswer delete_room(ApiCall& call) {
  RoomConf& room = call.room();
  const auto edit = [](ApiCall& its, Adjustments& all) -> std::vector<std::string> {
    const RoomConf& now = its.room();
    its.check_match(etag_of_room(its.worker, now));
    if (!its.worker.live().is_made(now)) {
      throw Refusal{409, "This room is in nginx.conf: take it out there.", ""};
    }
    all.rooms.erase(std::string(its.name));
    return {"room " + std::string(its.name) + " deleted"};
  };
  return change(call, edit, [&room](ApiCall& its) { return empty_room(its, room); });
}

ApiAnswer set_mode(ApiCall& call) {
  const auto mode = call.body.contains("mode") && call.body["mode"].is_string() ? operate::parse_mode(call.body["mode"].get<std::string>())
                                                                                : std::nullopt;
  const RoomConf& room = call.room();
  if (!mode || call.body.size() != 1) {
    throw Refusal{422, "\"mode\" must be normal, hold, open or closed, as in {\"mode\": \"hold\"}.", "mode"};
  }
  const auto edit = [mode = *mode](ApiCall& its, Adjustments& all) -> std::vector<std::string> {
    its.check_match(etag_of_room(its.worker, its.room()));
    const std::string name(its.name);
    RoomAdjustment& adjustment = all.rooms[name];
    const std::string before(operate::mode_name(adjustment.mode));
    adjustment.mode = mode;
    erase_idle(all, name);
    return {"room " + name + ": mode " + before + " → " + std::string(operate::mode_name(mode))};
  };
  return change(call, edit, [&room](ApiCall& its) {
    touch(its.worker, room);
    return answer_of(its.worker, room);
  });
}

}  // namespace fairway::ngx
