// The value of --store: what would stand after `fairway_store` in nginx.conf, in one string.
//   memory | memory 64m | valkey://[user:password@]host[:port][/db] [more URLs] [timeout=250ms] [password=@FILE] ...
// Only the form is checked here; `nginx -t` knows the rest.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fairway::cli {

// Splits and checks; relative file names (password=@FILE, ca=FILE) become absolute, starting at `directory`. Throws UsageError, which
// never repeats what was given: it may hold a password.
std::vector<std::string> parse_store(std::string_view text, const std::string& directory);

// The same argument with every password replaced by asterisks, for people's eyes.
std::string mask_secret(std::string_view argument);

}  // namespace fairway::cli
