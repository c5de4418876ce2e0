#include "nginx/store_conf.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace fairway::ngx {

namespace {

constexpr std::size_t kMaxPassword = 4096;  // bytes

StoreAddress address_of(const void* address, std::size_t size) noexcept {
  StoreAddress out;
  out.size = static_cast<socklen_t>(std::min(size, sizeof(out.address)));
  std::memcpy(&out.address, address, out.size);
  return out;
}

StoreAddress unix_address(const std::string& path) noexcept {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, path.data(), std::min(path.size(), sizeof(name.sun_path) - 1));
  return address_of(&name, sizeof(name));
}

// A host that is an address already.
std::vector<StoreAddress> numeric_address(const valkey::Endpoint& endpoint) {
  sockaddr_in v4{};
  if (::inet_pton(AF_INET, endpoint.host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(endpoint.port);
    return {address_of(&v4, sizeof(v4))};
  }
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET6, endpoint.host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(endpoint.port);
    return {address_of(&v6, sizeof(v6))};
  }
  return {};
}

std::vector<StoreAddress> look_up(ngx_conf_t* cf, const valkey::Endpoint& endpoint) {
  if (!endpoint.path.empty()) {
    return {unix_address(endpoint.path)};
  }
  ngx_url_t url{};
  url.url = copy(cf->pool, valkey::to_string(endpoint));
  std::vector<StoreAddress> found;
  if (url.url.data == nullptr || ngx_parse_url(cf->pool, &url) != NGX_OK) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"fairway_store\": %s in \"%V\"", url.err == nullptr ? "no memory" : url.err, &url.url);
    return found;
  }
  for (const ngx_addr_t& address : std::span(url.addrs, url.naddrs)) {
    found.push_back(address_of(address.sockaddr, address.socklen));
  }
  return found;
}

// A file that the configuration names, its path ended by a NUL as system calls want it. data: nullptr when there is no memory.
ngx_str_t file_name(ngx_conf_t* cf, const std::string& text) {
  ngx_str_t name = copy(cf->pool, {text.c_str(), text.size() + 1});
  if (name.data == nullptr) {
    return name;
  }
  --name.len;
  return ngx_conf_full_name(cf->cycle, &name, 1) == NGX_OK ? name : ngx_str_t{};
}

// The first line of password=@FILE, or a reason.
const char* read_password(const char* name, std::string& password) {
  const int file = ::open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return "cannot be read";
  }
  std::array<char, kMaxPassword + 1> text;
  const ssize_t size = ::read(file, text.data(), text.size());
  ::close(file);
  if (size < 0) {
    return "cannot be read";
  }
  const std::string_view line = std::string_view(text.data(), static_cast<std::size_t>(size));
  password = line.substr(0, line.find_first_of("\r\n"));
  return password.empty() || password.size() > kMaxPassword ? "must hold the password in its first line, at most 4096 bytes" : nullptr;
}

bool load_password(ngx_conf_t* cf, valkey::Config& config) {
  if (config.password_file.empty()) {
    return true;
  }
  const ngx_str_t name = file_name(cf, config.password_file);
  if (name.data == nullptr) {
    return false;
  }
  const char* wrong = read_password(reinterpret_cast<const char*>(name.data), config.password);
  if (wrong != nullptr) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "the file of \"password=@%V\" of \"fairway_store\" %s", &name, wrong);
  }
  return wrong == nullptr;
}

// The file of ca=. Not by nginx's own function, whose message names neither the directive nor its place.
bool load_trusted(ngx_conf_t* cf, const std::string& ca, ngx_ssl_t& ssl) {
  const ngx_str_t name = file_name(cf, ca);
  if (name.data == nullptr) {
    return false;
  }
  const char* path = reinterpret_cast<const char*>(name.data);
  const int error = ::access(path, R_OK) == 0 ? 0 : errno;
  const bool loaded = error == 0 && SSL_CTX_load_verify_locations(ssl.ctx, path, nullptr) == 1;
  ERR_clear_error();  // something may be left there even when it went well
  if (!loaded) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, error, "the file of \"ca=%V\" of \"fairway_store\" must hold trusted certificates in PEM form",
                       &name);
  }
  return loaded;
}

bool trust(ngx_conf_t* cf, const valkey::Config& config, ngx_ssl_t& ssl) {
  ngx_str_t none{};
  // sets the callback that lets the handshake go on: whether the certificate is good is looked at afterwards
  if (ngx_ssl_trusted_certificate(cf, &ssl, &none, 9) != NGX_OK) {
    return false;
  }
  if (!config.ca.empty()) {
    return load_trusted(cf, config.ca, ssl);
  }
  if (SSL_CTX_set_default_verify_paths(ssl.ctx) != 1) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"fairway_store\": the system's trusted certificates cannot be loaded; name a file by ca=");
    return false;
  }
  return true;
}

bool make_tls(ngx_conf_t* cf, StoreConf& conf) {
  if (!conf.config.tls) {
    return true;
  }
  auto* ssl = make<ngx_ssl_t>(cf->pool);
  if (ssl == nullptr) {
    return false;
  }
  ssl->log = cf->log;
  if (ngx_ssl_create(ssl, NGX_SSL_TLSv1_2 | NGX_SSL_TLSv1_3, nullptr) != NGX_OK) {
    return false;
  }
  ngx_pool_cleanup_t* cleanup = ngx_pool_cleanup_add(cf->pool, 0);
  if (cleanup == nullptr) {
    ngx_ssl_cleanup_ctx(ssl);
    return false;
  }
  cleanup->handler = ngx_ssl_cleanup_ctx;
  cleanup->data = ssl;
  conf.ssl = ssl;
  return !conf.config.verify || trust(cf, conf.config, *ssl);
}

bool look_up_all(ngx_conf_t* cf, StoreConf& conf) {
  for (const valkey::Endpoint& endpoint : conf.config.endpoints) {
    conf.addresses.push_back(look_up(cf, endpoint));
    if (conf.addresses.back().empty()) {
      return false;
    }
    conf.hosts += conf.hosts.empty() ? "" : " ";
    conf.hosts += valkey::to_string(endpoint);
  }
  return true;
}

}  // namespace

std::vector<StoreAddress> StoreConf::find(const valkey::Endpoint& endpoint) const {
  for (std::size_t i = 0; i < config.endpoints.size(); ++i) {
    if (config.endpoints[i].host == endpoint.host && config.endpoints[i].port == endpoint.port &&
        config.endpoints[i].path == endpoint.path) {
      return addresses[i];
    }
  }
  return numeric_address(endpoint);
}

StoreConf* parse_store(ngx_conf_t* cf, std::span<const std::string_view> words) noexcept {
  try {
    std::string error;
    auto config = valkey::parse_config(words, error);
    if (!config) {
      ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "\"fairway_store\": %s", error.c_str());
      return nullptr;
    }
    auto* conf = make_owned<StoreConf>(cf->pool);
    if (conf == nullptr) {
      return nullptr;
    }
    conf->config = std::move(*config);
    const bool made = load_password(cf, conf->config) && look_up_all(cf, *conf) && make_tls(cf, *conf);
    return made ? conf : nullptr;
  } catch (...) {
    ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "no memory for \"fairway_store\"");
    return nullptr;
  }
}

}  // namespace fairway::ngx
