#include "cli/keys.h"

#include <algorithm>
#include <vector>

#include "cli/failure.h"
#include "cli/files.h"
#include "core/token.h"

namespace fairway::cli {
namespace {

constexpr std::size_t kMostBytes = 64 * 1024;  // the module reads no more

std::string new_line(const std::vector<std::string>& taken) {
  std::string line = make_key_line(taken);
  if (line.empty()) throw RunError("the system has no random numbers for a new key");
  return line + "\n";
}

std::unique_ptr<KeyRing> parse_keys(std::string_view text, const std::string& name) {
  std::string error;
  auto ring = KeyRing::parse(text, error);
  if (!ring) throw RunError(name + " is not a keys file: " + error);
  return ring;
}

// Where the first key's line begins: below the comments of a file that has a key.
std::size_t first_key_at(std::string_view text) {
  std::size_t at = 0;
  for (;;) {
    const auto start = text.find_first_not_of(" \t\r", at);
    if (start == std::string_view::npos || (text[start] != '#' && text[start] != '\n')) return at;
    at = text.find('\n', start);
    if (at == std::string_view::npos) return text.size();
    ++at;
  }
}

std::string told(const Rotated& rotated, const std::string& file, Place place) {
  const std::string of = " of " + std::to_string(rotated.keys) + " in " + file + "\n";
  if (place == Place::second) {
    return "Key " + rotated.id + " is now second" + of +
           "It is known then, but does not sign yet. Copy the file to every gateway and reload them all. After that move the line of this "
           "key\n"
           "above the first one, copy the file to every gateway, and reload them again. Remove the old line once its passes and tickets "
           "have\n"
           "expired.\n";
  }
  return "Key " + rotated.id + " is now first" + of +
         "Reload to sign with it: kill -HUP the fairway run process, or nginx -s reload. Remove the old line once its passes and tickets "
         "have\n"
         "expired. With several gateways do not reload yet: each must know the key before one signs with it. Move its line below the next\n"
         "one, where fairway keys rotate --second puts it, copy the file to every gateway, reload them all, and only then move it up.\n";
}

}  // namespace

std::string new_keys_text() {
  return "# Keys that sign passes and tickets, KEYID:SECRET a line: the first signs, all verify. Keep this file private.\n" + new_line({});
}

Rotated rotate_keys(std::string_view text, Place place) {
  const auto ring = parse_keys(text, "this");
  std::vector<std::string> taken;
  for (const Key& key : ring->keys()) taken.push_back(key.id);
  Rotated rotated;
  const std::string line = new_line(taken);
  rotated.id = line.substr(0, line.find(':'));
  std::size_t at = first_key_at(text);
  if (place == Place::second) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  rotated.text = text.substr(0, at);
  if (at > 0 && rotated.text.back() != '\n') rotated.text += '\n';
  rotated.text.append(line).append(text.substr(at));
  rotated.keys = taken.size() + 1;
  return rotated;
}

void check_keys_file(const std::string& file) {
  parse_keys(read_file(file, kMostBytes), file);
}

std::string keys_new_command(const std::string& output) {
  std::string text = new_keys_text();
  if (output.empty()) return text;
  create_private_file(output, text);
  return "New keys in " + output + "\n";
}

std::string keys_rotate_command(const std::string& file, Place place) {
  const std::string old = read_file(file, kMostBytes);
  parse_keys(old, file);
  const Rotated rotated = rotate_keys(old, place);
  if (rotated.text.size() > kMostBytes) throw RunError(file + " is full: remove old keys first");
  replace_private_file(file, rotated.text);
  return told(rotated, file, place);
}

}  // namespace fairway::cli
