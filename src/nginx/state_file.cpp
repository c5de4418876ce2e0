#include "nginx/state_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string>

#include "nginx/state_folder.h"

namespace fairway::ngx {

namespace {

constexpr char kFirstLine[] = "fairway state 1\n";
constexpr std::size_t kMaxFile = 16 << 20;  // bytes; 65,536 ended sessions take 4 MiB

std::string path_of(const MainConf& conf) {
  return std::string(view(conf.state)) + "/rooms";
}

// In hex; "-" for everybody.
std::string network_text(const Network& network) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = network.size == 0 ? "-" : "";
  for (std::size_t i = 0; i < network.size; ++i) {
    text += kDigits[network.bytes[i] >> 4];
    text += kDigits[network.bytes[i] & 15];
  }
  return text;
}

bool read_network(std::string_view text, Network& network) noexcept {
  if (text == "-") {
    return true;
  }
  if (text.size() != 6 && text.size() != 12) {
    return false;
  }
  network.size = static_cast<std::uint8_t>(text.size() / 2);
  for (std::size_t i = 0; i < network.size; ++i) {
    const char* digits = text.data() + 2 * i;
    if (const auto [end, error] = std::from_chars(digits, digits + 2, network.bytes[i], 16); error != std::errc{} || end != digits + 2) {
      return false;
    }
  }
  return true;
}

std::string text_of(Shared& shared, std::int64_t now) {
  std::string text = kFirstLine;
  char line[256];
  for (const RoomRow& row : shared.rooms) {
    const room::Memory memory = row.memory();
    if (row.name[0] == '\0' || memory.epoch == 0) {
      continue;
    }
    std::snprintf(line, sizeof(line), "room %.32s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %" PRId64 "\n", row.name,
                  memory.epoch, memory.version, memory.last_number, memory.inside, memory.waiting, row.tokens_until);
    text += line;
  }
  for (const RoomRow& row : shared.rooms) {
    row.cuts.each(now, [&](const operate::CutEntry& entry) {
      std::snprintf(line, sizeof(line), "cut %.32s %" PRId64 " %" PRIu64 " %" PRId64 " %s\n", row.name, entry.at, entry.number, entry.until,
                    network_text(entry.network).c_str());
      text += line;
    });
  }
  shared.ended->each(now, [&](const Sid& sid, std::int64_t until) {
    char hex[33] = {};
    sid.to_hex(hex);
    std::snprintf(line, sizeof(line), "ended %s %" PRId64 "\n", hex, until);
    text += line;
  });
  return text;
}

std::uint64_t fingerprint(Shared& shared) noexcept {
  std::uint64_t sum = shared.ended->version() + shared.cuts_made.load();
  for (const RoomRow& row : shared.rooms) {
    const room::Memory memory = row.memory();
    sum = sum * 31 + memory.epoch + memory.version + static_cast<std::uint64_t>(row.tokens_until);
  }
  return sum;
}

// The words of a line; what is missing is empty.
std::array<std::string_view, 8> words_of(std::string_view line) noexcept {
  std::array<std::string_view, 8> words;
  for (std::string_view& word : words) {
    line.remove_prefix(std::min(line.find_first_not_of(" \n"), line.size()));
    word = line.substr(0, line.find_first_of(" \n"));
    line.remove_prefix(word.size());
  }
  return words;
}

template <class Number>
bool read_number(std::string_view word, Number& number) noexcept {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return error == std::errc{} && end == word.data() + word.size();
}

void restore_line(Shared& shared, ngx_shm_zone_t* zone, std::string_view line, std::int64_t now) {
  const auto words = words_of(line);
  room::Memory memory;
  std::int64_t until = 0;
  Sid sid;
  if (words[0] == "room" && read_number(words[2], memory.epoch) && read_number(words[3], memory.version) &&
      read_number(words[4], memory.last_number) && read_number(words[5], memory.inside) && read_number(words[6], memory.waiting) &&
      read_number(words[7], until)) {
    if (RoomRow* row = until > now ? claim_row(zone, words[1]) : nullptr) {
      row->remember(memory);
      row->tokens_until = until;
    }
  } else if (operate::CutEntry cut; words[0] == "cut" && read_number(words[2], cut.at) && read_number(words[3], cut.number) &&
                                    read_number(words[4], cut.until) && cut.until > now && read_network(words[5], cut.network)) {
    if (RoomRow* row = claim_row(zone, words[1])) {
      row->cuts.add(cut);
    }
  } else if (words[0] == "ended" && Sid::from_hex(words[1], sid) && read_number(words[2], until) && until > now) {
    const Lock lock(zone);
    shared.ended->add(sid, until, now);
  }
}

}  // namespace

void save_state(const MainConf& conf, Shared& shared, ngx_log_t* log, bool at_once) noexcept {
  const std::uint64_t now_version = fingerprint(shared);
  if (!conf.keep_state || !is_newest(conf) || shared.saved.load() == now_version ||
      !(at_once || is_time_to_save(shared.trouble.at.load()))) {
    return;
  }
  try {
    const FolderLock folder(conf, at_once);
    if (folder.is_busy()) {
      return;  // again at the next tick
    }
    if (!replace_file(path_of(conf), text_of(shared, ngx_time()), false)) {
      const ngx_err_t error = ngx_errno;
      shared.trouble.note(error, ngx_time());
      log_not_saved(conf, shared.trouble.last_log, log, "what the rooms remember", error);
      return;
    }
    shared.trouble.note(0, ngx_time());
    const Lock lock(conf.zone);
    if (is_newest(conf)) {
      shared.saved.store(now_version);
    }
  } catch (...) {
    ngx_log_error(NGX_LOG_ERR, log, 0, "fairway: no memory to save what the rooms remember");  // again at the next tick
  }
}

void restore_state(const MainConf& conf, ngx_log_t* log) noexcept {
  Shared* shared = shared_of(conf.zone);
  if (shared == nullptr || shared->restored.exchange(true)) {
    return;
  }
  try {
    std::FILE* file = std::fopen(path_of(conf).c_str(), "re");
    if (file == nullptr) {
      return;  // a first start
    }
    char line[256];
    std::size_t read = 0;
    bool known = std::fgets(line, sizeof(line), file) != nullptr && std::strcmp(line, kFirstLine) == 0;
    while (known && read < kMaxFile && std::fgets(line, sizeof(line), file) != nullptr) {
      read += std::strlen(line);
      restore_line(*shared, conf.zone, line, ngx_time());
    }
    std::fclose(file);
    if (!known) {
      ngx_log_error(NGX_LOG_WARN, log, 0, "fairway: \"%V/rooms\" is not a state file of this version: it is passed over", &conf.state);
    }
  } catch (...) {
    ngx_log_error(NGX_LOG_WARN, log, 0, "fairway: no memory to read the saved state");
  }
}

}  // namespace fairway::ngx
