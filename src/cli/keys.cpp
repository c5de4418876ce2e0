#include "cli/keys.h"

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

}  // namespace

std::string new_keys_text() {
  return "# Keys that sign passes and tickets, KEYID:SECRET a line: the first signs, all verify. Keep this file private.\n" + new_line({});
}

Rotated rotate_keys(std::string_view text) {
  const auto ring = parse_keys(text, "this");
  std::vector<std::string> taken;
  for (const Key& key : ring->keys()) taken.push_back(key.id);
  Rotated rotated;
  const std::string line = new_line(taken);
  rotated.id = line.substr(0, line.find(':'));
  rotated.text = line + std::string(text);
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

std::string keys_rotate_command(const std::string& file) {
  const std::string old = read_file(file, kMostBytes);
  parse_keys(old, file);
  const Rotated rotated = rotate_keys(old);
  if (rotated.text.size() > kMostBytes) throw RunError(file + " is full: remove old keys first");
  replace_private_file(file, rotated.text);
  return "Key " + rotated.id + " is now first of " + std::to_string(rotated.keys) + " in " + file +
         "\nReload to sign with it: kill -HUP the fairway run process, or nginx -s reload.\n"
         "With several gateways, copy the file to all of them first. Remove the old line once its passes and tickets have expired.\n";
}

}  // namespace fairway::cli
