#include "store/valkey/url.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace fairway::valkey {
namespace {

constexpr std::uint16_t kStorePort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::uint32_t kMaxDatabase = 65'535;
constexpr Micros kMaxTimeout = 60'000'000;
constexpr Micros kMaxBreaker = 3'600'000'000;

template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte <= 0x20 || byte == 0x7f;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

// One URL taken apart; what must agree between several URLs is compared by the caller.
struct Url {
  Endpoint endpoint;  // port 0: not given
  bool tls = false;
  std::string user;
  std::string password;
  std::optional<std::uint32_t> database;
};

struct Scheme {
  std::string_view prefix;
  bool tls;
};
constexpr std::array<Scheme, 4> kSchemes{{{"valkey://", false}, {"redis://", false}, {"valkeys://", true}, {"rediss://", true}}};

const Scheme* scheme_of(std::string_view word) {
  const auto* found = std::ranges::find_if(kSchemes, [&](const Scheme& scheme) { return word.starts_with(scheme.prefix); });
  return found == kSchemes.end() ? nullptr : found;
}

bool parse_credentials(std::string_view text, Url& url, std::string& error) {
  const auto colon = text.find(':');
  const bool alone = colon == std::string_view::npos;  // the password comes from a file
  const auto user = percent_decoded(text.substr(0, colon));
  const auto password = percent_decoded(alone ? std::string_view{} : text.substr(colon + 1));
  if (!user || !password) {
    error = "a '%' in user or password must be followed by two hex digits; write '%' itself as %25";
    return false;
  }
  if (alone ? user->empty() : password->empty()) {
    error = alone ? "the user in the URL is empty" : "the password in the URL is empty";
    return false;
  }
  url.user = *user;
  url.password = *password;
  return true;
}

bool parse_host(std::string_view text, Endpoint& endpoint, std::string& error) {
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || (end + 1 < text.size() && text[end + 1] != ':')) {
      error = "an IPv6 address is written [address] or [address]:port";
      return false;
    }
    endpoint.host = text.substr(1, end - 1);
    has_port = end + 1 < text.size();
    if (has_port) port = text.substr(end + 2);
  } else {
    const auto colon = text.find(':');
    endpoint.host = text.substr(0, colon);
    has_port = colon != std::string_view::npos;
    if (has_port) port = text.substr(colon + 1);
  }
  if (endpoint.host.empty()) {
    error = "a host is missing: valkey://host[:port][/db]";
    return false;
  }
  if (!has_port) return true;
  const auto number = whole_number<std::uint16_t>(port);
  if (!number || *number == 0) {
    error = "a port must be a number from 1 to 65535";
    return false;
  }
  endpoint.port = *number;
  return true;
}

bool parse_unix(std::string_view path, Url& url, std::string& error) {
  if (!path.starts_with('/')) {
    error = "a unix socket is written unix:/path";
    return false;
  }
  if (path.size() > 107) {
    error = "the path of a unix socket may have 107 bytes at most";
    return false;
  }
  url.endpoint.path = path;
  return true;
}

bool parse_url(std::string_view word, Url& url, std::string& error) {
  if (word.starts_with("unix:")) return parse_unix(word.substr(5), url, error);
  const Scheme* scheme = scheme_of(word);
  url.tls = scheme->tls;
  std::string_view rest = word.substr(scheme->prefix.size());
  if (rest.find_first_of("?#") != std::string_view::npos) {
    error = "a store URL has no '?' or '#' part; options are words of their own, and in a password write %3F and %23";
    return false;
  }
  const auto at = rest.rfind('@');
  if (at != std::string_view::npos) {
    if (!parse_credentials(rest.substr(0, at), url, error)) return false;
    rest.remove_prefix(at + 1);
  }
  const auto slash = rest.find('/');
  if (slash != std::string_view::npos && slash + 1 < rest.size()) {
    url.database = whole_number<std::uint32_t>(rest.substr(slash + 1));
    if (!url.database || *url.database > kMaxDatabase) {
      error = "a database must be a number from 0 to 65535";
      return false;
    }
  }
  return parse_host(rest.substr(0, slash), url.endpoint, error);
}

bool merge_url(const Url& url, Config& config, std::string& error) {
  const bool first = config.endpoints.empty();
  if (!first && (!url.endpoint.path.empty() || !config.endpoints.front().path.empty())) {
    error = "a unix socket cannot be one of several hosts";
  } else if (!first && url.tls != config.tls) {
    error = "either all hosts use TLS (valkeys://, rediss://) or none";
  } else if (!first && (!url.user.empty() || !url.password.empty()) && (url.user != config.user || url.password != config.password)) {
    error = "all hosts must have the same user and password; they need to be given only with the first";
  } else if (!first && url.database && *url.database != config.database) {
    error = "all hosts must have the same database; it needs to be given only with the first";
  }
  if (!error.empty()) return false;
  if (std::ranges::find(config.endpoints, url.endpoint) != config.endpoints.end()) {
    error = "a host is given twice";
    return false;
  }
  config.endpoints.push_back(url.endpoint);
  if (!first) return true;
  config.tls = url.tls;
  config.user = url.user;
  config.password = url.password;
  config.database = url.database.value_or(0);
  return true;
}

// A time as in nginx.conf with one unit (ms, s, m, h); a bare number is seconds.
std::optional<Micros> parse_time(std::string_view text, Micros most) {
  const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = whole_number<std::uint32_t>(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string_view unit = text.substr(digits);
  Micros scale = 0;
  if (unit == "ms") scale = 1'000;
  if (unit == "s" || unit.empty()) scale = 1'000'000;
  if (unit == "m") scale = 60'000'000;
  if (unit == "h") scale = 3'600'000'000;
  const Micros value = Micros{*number} * scale;
  if (value <= 0 || value > most) return std::nullopt;
  return value;
}

// Each option takes its value into `config`, or says what would be right.
std::string_view take_timeout(std::string_view value, Config& config) {
  const auto time = parse_time(value, kMaxTimeout);
  config.timeout = time.value_or(config.timeout);
  return time ? "" : "timeout= takes a time from 1ms to 60s";
}

std::string_view take_breaker(std::string_view value, Config& config) {
  const auto time = parse_time(value, kMaxBreaker);
  config.breaker = time.value_or(config.breaker);
  return time ? "" : "breaker= takes a time from 1ms to 1h";
}

std::string_view take_sentinel(std::string_view value, Config& config) {
  config.sentinel = value;
  return value.empty() ? "sentinel= takes the name of the master" : "";
}

std::string_view take_password(std::string_view value, Config& config) {
  if (value.size() < 2 || value[0] != '@') return "password= takes @ and the name of a file: password=@FILE";
  config.password_file = value.substr(1);
  return "";
}

std::string_view take_ca(std::string_view value, Config& config) {
  config.ca = value;
  return value.empty() ? "ca= takes the name of a file" : "";
}

std::string_view take_verify(std::string_view value, Config& config) {
  config.verify = value != "off";
  return value == "on" || value == "off" ? "" : "verify= is on or off";
}

struct Option {
  std::string_view name;
  std::string_view (*take)(std::string_view value, Config& config);
};
constexpr std::array<Option, 6> kOptions{{{"timeout", take_timeout},
                                          {"breaker", take_breaker},
                                          {"sentinel", take_sentinel},
                                          {"password", take_password},
                                          {"ca", take_ca},
                                          {"verify", take_verify}}};

bool parse_option(std::string_view name, std::string_view value, Config& config, std::string& error) {
  const auto* option = std::ranges::find(kOptions, name, &Option::name);
  error = option != kOptions.end() ? option->take(value, config)
                                   : "unknown word; allowed are valkey://, redis://, valkeys://, rediss://, unix:, timeout=, breaker=, "
                                     "sentinel=, password=, ca=, verify=";
  return error.empty();
}

bool check_whole(Config& config, bool tls_option, std::string& error) {
  if (config.endpoints.empty()) {
    error = "a store URL is missing: valkey://host[:port][/db]";
  } else if (!config.password.empty() && !config.password_file.empty()) {
    error = "the password is given twice, in the URL and by password=";
  } else if (!config.user.empty() && config.password.empty() && config.password_file.empty()) {
    error = "a user needs a password: user:password@host, or user@host and password=@FILE";
  } else if (tls_option && !config.tls) {
    error = "ca= and verify= need valkeys:// or rediss://";
  } else if (!config.sentinel.empty() && !config.endpoints.front().path.empty()) {
    error = "a sentinel cannot be a unix socket";
  } else if (config.endpoints.size() > 1 && config.sentinel.empty() && config.database != 0) {
    error = "a cluster has only database 0";
  }
  if (!error.empty()) return false;
  for (Endpoint& endpoint : config.endpoints) {
    if (endpoint.path.empty() && endpoint.port == 0) endpoint.port = config.sentinel.empty() ? kStorePort : kSentinelPort;
  }
  return true;
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  if (!endpoint.path.empty()) return "unix:" + endpoint.path;
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

std::optional<Config> parse_config(std::span<const std::string_view> words, std::string& error) {
  error.clear();
  Config config;
  bool tls_option = false;
  std::vector<std::string_view> seen;
  for (const std::string_view word : words) {
    if (std::ranges::any_of(word, is_control)) {
      error = "a word holds a space or a control character; write it percent-encoded";
      return std::nullopt;
    }
    if (word.starts_with("unix:") || scheme_of(word) != nullptr) {
      Url url;
      if (!parse_url(word, url, error) || !merge_url(url, config, error)) return std::nullopt;
      continue;
    }
    const auto equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    if (std::ranges::find(seen, name) != seen.end()) {
      error = "an option is given twice";
      return std::nullopt;
    }
    seen.push_back(name);
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : word.substr(equals + 1);
    if (!parse_option(name, value, config, error)) return std::nullopt;
    tls_option = tls_option || name == "ca" || name == "verify";
  }
  if (!check_whole(config, tls_option, error)) return std::nullopt;
  return config;
}

}  // namespace fairway::valkey
