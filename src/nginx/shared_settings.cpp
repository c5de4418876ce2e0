#include "nginx/shared_settings.h"

#include <sys/stat.h>

#include <fstream>

#include "nginx/settings_file.h"
#include "nginx/worker.h"
#include "operate/shared_keys.h"

namespace fairway::ngx {

namespace {

using operate::Adjustments;
using operate::RoomAdjustment;

std::string hex(std::uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// The running system, whatever its name is; containers of one machine share it.
std::string machine() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  return file >> id ? id : std::string(reinterpret_cast<const char*>(ngx_cycle->hostname.data), ngx_cycle->hostname.len);
}

// The same after a restart of nginx, and not that of another gateway on this or another machine: the state folder itself, not its name,
// which may be the same in several containers. A copied folder is another one.
std::string gateway_name(const MainConf& conf) {
  std::string place = machine() + " ";
  struct stat info {};
  if (::stat(reinterpret_cast<const char*>(conf.state.data), &info) == 0) {
    place += std::to_string(info.st_dev) + " " + std::to_string(info.st_ino);
  } else {
    place += view(conf.state);
  }
  return hex(siphash({0x66616972, 0x77617900}, place.data(), place.size()));
}

}  // namespace

SharedSettings::SharedSettings(Worker& worker)
    : worker_(worker), gateway_(gateway_name(worker.conf())), keys_(operate::shared_keys(worker.keys())) {}

SharedSettings::~SharedSettings() {
  if (ticket_ != 0) {
    worker_.store()->withdraw(ticket_);
  }
}

std::string SharedSettings::known() const {
  const Lock lock(worker_.zone());
  return worker_.shared().board->stamp;
}

valkey::SettingsRequest SharedSettings::question(std::string_view known) const {
  return {gateway_, keys_, std::string(known), {}, {}};
}

valkey::SettingsRequest SharedSettings::offer(std::string_view known, const Adjustments& all) const {
  return {gateway_, keys_, std::string(known), hex(worker_.random64()), operate::shared_part(all).text()};
}

void SharedSettings::ask(valkey::SettingsRequest request) noexcept {
  asked_ = request.known;
  offered_ = request.stamp;
  ticket_ = worker_.store()->settings(*this, std::move(request));
}

void SharedSettings::sync() noexcept {
  if (ticket_ != 0) {
    return;
  }
  try {
    ask(question(known()));
  } catch (...) {
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "fairway: no memory to look for changed settings");
  }
}

void SharedSettings::answered(const valkey::Completion& completion) noexcept {
  ticket_ = 0;
  if (completion.outcome != valkey::Outcome::answered) {
    return;
  }
  try {
    take(*completion.settings);
  } catch (...) {
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "fairway: no memory to take over changed settings");
  }
}

void SharedSettings::take(const valkey::SettingsReply& reply) {
  note_gateways(reply);
  if (reply.taken) {
    const Lock lock(worker_.zone());
    worker_.shared().board->set_stamp(offered_);  // the board has had all of it since before it was offered
    in_step();
    return;
  }
  worker_.live().follow();
  const bool nothing = reply.stamp.empty() && worker_.live().adjustments().rooms.empty();
  if (nothing || (!reply.stamp.empty() && reply.stamp == asked_)) {
    in_step();
    return;
  }
  switch (adopt(reply)) {
    case Adopted::all:
      in_step();
      break;
    case Adopted::more:
      ask(offer(reply.stamp, worker_.live().adjustments()));
      break;
    case Adopted::not_understood:
      break;
  }
}

// What is wrong with the keys is said once in the log.
void SharedSettings::note_gateways(const valkey::SettingsReply& reply) {
  std::vector<std::string> keys;
  for (const valkey::SettingsReply::Gateway& gateway : reply.gateways) {
    keys.push_back(gateway.keys);
  }
  const operate::KeyTrouble trouble = operate::compare_keys(keys_, keys);
  std::string foreign;
  for (const std::string& id : trouble.foreign) {
    foreign.append(foreign.empty() ? "" : ", ").append(id);
  }
  Shared& shared = worker_.shared();
  foreign.resize(std::min(foreign.size(), sizeof(shared.foreign_keys) - 1));
  bool is_new = false;
  {
    const Lock lock(worker_.zone());
    is_new = shared.foreign_keys != foreign || shared.key_unknown != trouble.unknown;
    shared.other_gateways = static_cast<std::uint32_t>(keys.size());
    shared.key_unknown = trouble.unknown;
    std::memcpy(shared.foreign_keys, foreign.c_str(), foreign.size() + 1);
  }
  if (is_new && (trouble.unknown || !foreign.empty())) {
    ngx_log_error(
        NGX_LOG_WARN, ngx_cycle->log, 0,
        "fairway: the keys files of the store's gateways differ: keys that others sign with and that are not here: %s; our signing "
        "key is %s",
        foreign.empty() ? "none" : foreign.c_str(), trouble.unknown ? "not at every other gateway" : "at every other gateway");
  }
}

void SharedSettings::in_step() noexcept {
  worker_.shared().settings_not_shared.store(false, std::memory_order_relaxed);
}

SharedSettings::Adopted SharedSettings::adopt(const valkey::SettingsReply& reply) {
  Adjustments theirs;
  if (!reply.stamp.empty()) {
    std::string why;
    auto read = Adjustments::parse(reply.text, why);
    if (!read) {
      worker_.log_not_shared("what it holds was not understood: " + why);
      return Adopted::not_understood;
    }
    theirs = operate::shared_part(*read);
  }
  return publish(theirs, reply.stamp, nullptr, "another gateway") == Published::more ? Adopted::more : Adopted::all;
}

bool SharedSettings::taken(const Adjustments& all, std::string_view stamp, const std::vector<std::string>& done, std::string_view from) {
  return publish(operate::shared_part(all), stamp, &done, from) != Published::too_old;
}

// `all`: the store's text with that stamp says all that is known here.
SharedSettings::Published SharedSettings::publish(const Adjustments& theirs, std::string_view stamp, const std::vector<std::string>* done,
                                                  std::string_view from) {
  Live& live = worker_.live();
  Board& board = *worker_.shared().board;
  for (;;) {  // again when another worker was faster
    live.follow();
    const Adjustments ours = live.adjustments();
    const Adjustments merged = operate::merge(ours, theirs, [this](std::string_view room) { return file(room); });
    const std::string text = merged.text();
    const bool all_of_it = operate::shared_part(merged).rooms == theirs.rooms;
    const std::vector<std::string> events = done != nullptr ? *done : differences(ours, merged);
    if (text.size() > Board::kMaxText) {
      worker_.log_not_shared("all changes together are too large");
      return Published::all;
    }
    {
      const Lock lock(worker_.zone());
      if (!is_newest(worker_.conf())) {  // its file is not the one that marks are for
        return Published::too_old;
      }
      if (merged != ours && !board.publish(live.version(), text)) {
        continue;
      }
      if (all_of_it) {
        board.set_stamp(stamp);
      }
      for (const std::string& event : events) {
        board.events.add(ngx_time(), event, from);
      }
    }
    forget_deleted(ours, merged);
    live.follow();
    save_settings(worker_.conf(), worker_.shared(), ngx_cycle->log, done != nullptr);
    return all_of_it ? Published::all : Published::more;
  }
}

// Whoever makes a room of that name again begins anew.
void SharedSettings::forget_deleted(const Adjustments& before, const Adjustments& after) noexcept {
  for (const auto& [name, room] : before.rooms) {
    const auto now = after.rooms.find(name);
    const RoomConf* conf = worker_.live().find(name);
    if (room.made && !now->second.made && conf != nullptr && worker_.live().is_made(*conf) && worker_.has_row(*conf)) {
      worker_.forget(*conf);
    }
  }
}

std::optional<operate::RoomSettings> SharedSettings::file(std::string_view room) const {
  const RoomConf* conf = worker_.live().find(room);
  return conf == nullptr || worker_.live().is_made(*conf) ? std::nullopt : std::optional(worker_.live().file(*conf));
}

std::vector<std::string> SharedSettings::differences(const Adjustments& before, const Adjustments& after) const {
  std::vector<std::string> all;
  const RoomAdjustment nothing;
  for (const auto& [name, now] : after.rooms) {
    const auto found = before.rooms.find(name);
    const RoomAdjustment& old = found == before.rooms.end() ? nothing : found->second;
    const auto in_file = file(name);
    if (old == now || !(old.made || now.made || in_file) || worker_.live().version() == 0) {
      continue;  // or nothing that shows here; or this gateway has only just begun
    }
    const std::string what = operate::difference(old, now, in_file.value_or(operate::RoomSettings{}));
    const std::string_view verb = in_file || old.made == now.made ? "" : now.made ? " made" : " deleted";
    if (verb == " deleted" || !(verb.empty() && what.empty())) {
      all.push_back("room " + name + std::string(verb) + (verb == " deleted" || what.empty() ? "" : ": " + what));
    }
  }
  return all;
}

}  // namespace fairway::ngx
