#include "cli/nginx_config.h"

#include <algorithm>

#include "cli/console_config.h"
#include "cli/nginx_quote.h"
#include "cli/store_option.h"

namespace fairway::cli {
namespace {

// `    name argument;`
std::string directive(int depth, std::string_view name, std::string_view argument) {
  return std::string(static_cast<std::size_t>(depth) * 4, ' ') + std::string(name) + " " + std::string(argument) + ";\n";
}

// Below root, the state folder is closed to the workers, and so may be the folders above it. They are born inside the work folder and
// reach it from there, so its paths are written relative to it; `-p ./` makes nginx leave them so.
std::string work_file(const RunSettings& settings, const Machine& machine, const std::string& name) {
  return machine.worker_user.empty() ? nginx_quote(settings.work_path() + "/" + name) : name;
}

std::string head_comment(const RunSettings& settings, const Machine& machine, Secrets secrets) {
  if (secrets == Secrets::masked) {
    return "# What `fairway run` writes to " + settings.config_path() +
           " when it starts.\n# Passwords are masked here: the file to copy is that one.\n\n";
  }
  std::string text =
      R"(# Written by `fairway run` at each start: changes made here are lost. To grow out of the command, copy this file and give the copy to
# nginx. Some lines are for the command alone; in the copy
#   - fairway_state gets a folder of its own, such as /var/lib/fairway, and fairway_keys a copy of the keys file;
#   - pid and the five *_temp_path go: nginx has places of its own for these;
#   - error_log and access_log name files that you want.
)";
  if (!machine.worker_user.empty()) {
    text +=
        "# Paths without a leading slash are below the folder that nginx is started in, with -p ./, because the workers may not enter it\n"
        "# from above: " +
        settings.work_path() + "\n";
  }
  return text + "\n";
}

std::string main_section(const RunSettings& settings, const Machine& machine, Secrets secrets) {
  const std::uint32_t open_files = std::min<std::uint32_t>(machine.open_files, 65536);
  // A proxied request takes two connections and two files, one that waits for a slot takes one; some files go to logs and sockets.
  const std::uint32_t connections = std::clamp<std::uint32_t>(open_files - std::min<std::uint32_t>(open_files, 64), 64, 8192);
  std::string text = head_comment(settings, machine, secrets);
  text += directive(0, "load_module", nginx_quote(machine.module)) + "\n";
  if (!machine.worker_user.empty()) {
    text += directive(0, "user", nginx_quote(machine.worker_user) + " " + nginx_quote(machine.worker_group));
  }
  text += directive(0, "pid", nginx_quote(settings.pid_path()));
  text += "error_log stderr warn;\n\n";
  text += "worker_processes auto;\n";
  text += "worker_shutdown_timeout 30s;  # after a reload, old workers give their visitors this long\n";
  text += directive(0, "worker_rlimit_nofile", std::to_string(open_files));
  return text + "\nevents {\n" + directive(1, "worker_connections", std::to_string(connections)) + "}\n";
}

std::string store_section(const RunSettings& settings, const Machine& machine, Secrets secrets) {
  std::string text = "    # What the gateway remembers, the keys that sign passes and tickets, and where the line lives.\n";
  text += directive(1, "fairway_state", work_file(settings, machine, "room"));
  text += directive(1, "fairway_keys", nginx_quote(settings.keys_path()));
  if (settings.store.empty()) return text + "    fairway_store memory 32m;\n\n";
  std::string arguments;
  for (const std::string& argument : settings.store) {
    if (!arguments.empty()) arguments += ' ';
    arguments += nginx_quote(secrets == Secrets::masked ? mask_secret(argument) : argument);
  }
  return text + directive(1, "fairway_store", arguments) + "\n";
}

std::string bypass_map(const RunSettings& settings) {
  if (!settings.capacity || settings.bypass.empty()) return "";
  std::string text = "    # Paths that skip the room.\n    map $uri $fairway_bypass {\n        default 0;\n";
  for (const std::string& prefix : settings.bypass) text += directive(2, nginx_prefix_pattern(prefix), "1");
  return text + "    }\n\n";
}

std::string rules_section(const RunSettings& settings) {
  std::string text = bypass_map(settings);
  if (settings.capacity) {
    text += "    # The waiting room: who is inside.\n";
    text += std::string("    waiting_room ") + kRoom + " {\n" + directive(2, "capacity", std::to_string(*settings.capacity));
    if (!settings.rate.empty()) text += directive(2, "rate", settings.rate);
    if (!settings.bypass.empty()) text += directive(2, "bypass", "$fairway_bypass");
    text += "    }\n\n";
  }
  if (settings.concurrency) {
    text += "    # The fair queue: what runs at once.\n";
    text +=
        std::string("    fair_queue ") + kQueue + " {\n" + directive(2, "concurrency", std::to_string(*settings.concurrency)) + "    }\n\n";
  }
  return text;
}

std::string real_ip_section(const FrontProxy& proxy) {
  if (proxy.networks.empty()) return "";
  std::string text = "    # The client's address comes from these proxies";
  text += proxy.note.empty() ? ".\n" : " (" + proxy.note + ").\n";
  for (const std::string& network : proxy.networks) text += directive(1, "set_real_ip_from", network);
  text += directive(1, "real_ip_header", proxy.header);
  return text + "    real_ip_recursive on;\n\n";
}

// What a trusted proxy said of the client is passed on; what anybody else said is not, since applications believe these headers.
std::string forwarded_maps(const FrontProxy& proxy) {
  if (proxy.networks.empty()) return "";
  std::string text = "    # X-Forwarded-* of those proxies are passed on; anybody else's are replaced.\n";
  text += "    geo $realip_remote_addr $fairway_from_proxy {\n        default 0;\n";
  for (const std::string& network : proxy.networks) text += directive(2, network, "1");
  text += R"(    }
    map "$fairway_from_proxy$http_x_forwarded_for" $fairway_forwarded_for {
        default $remote_addr;
        "~^1(?<fairway_chain>.+)$" "$fairway_chain, $realip_remote_addr";
    }
    map "$fairway_from_proxy$http_x_forwarded_proto" $fairway_forwarded_proto {
        default $scheme;
        1http http;
        1https https;
    }
    map "$fairway_from_proxy$http_x_forwarded_host" $fairway_forwarded_host {
        default $fairway_host;
        "~^1(?<fairway_front_host>.+)$" $fairway_front_host;
    }

)";
  return text;
}

std::string log_section(const RunSettings& settings, const Machine& machine) {
  std::string text = R"(    # One JSON object a line. No query, no cookies, no tokens: they may be secrets.
    map $status $fairway_status {  # a number in JSON has no leading zeros; nginx writes 009 after an HTTP/0.9 request
        default $status;
        "~^0+(?<fairway_digits>[0-9]+)$" $fairway_digits;
    }
    log_format fairway_json escape=json
        '{"time":"$time_iso8601","remote_addr":"$remote_addr","method":"$request_method","host":"$host","uri":"$uri",'
        '"protocol":"$server_protocol","status":$fairway_status,"bytes":$bytes_sent,"request_time":$request_time,'
        '"upstream_status":"$upstream_status","upstream_time":"$upstream_response_time","user_agent":"$http_user_agent",'
        '"waiting_room_state":"$waiting_room_state","waiting_room_name":"$waiting_room_name",'
        '"waiting_room_rank":"$waiting_room_rank","waiting_room_session":"$waiting_room_session")";
  if (settings.concurrency) {
    text += R"(,'
        '"fair_queue_status":"$fair_queue_status","fair_queue_wait":"$fair_queue_wait",'
        '"fair_queue_cost_ns":"$fair_queue_cost_ns","fair_queue_cpu_ns":"$fair_queue_cpu_ns",'
        '"fair_queue_debt":"$fair_queue_debt","fair_queue_outer":"$fair_queue_outer","fair_queue_inner":"$fair_queue_inner")";
  }
  text += "}';\n";
  if (settings.access_log == "off") return text + "    access_log off;\n\n";
  const std::string file = settings.access_log == "-" ? machine.access_log : settings.access_log;
  refuse_variables(file);
  return text + directive(1, "access_log", nginx_quote(file) + " fairway_json") + "\n";
}

std::string temp_section(const RunSettings& settings, const Machine& machine) {
  std::string text = "    # Bodies that do not fit into memory.\n";
  for (const char* name : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
    text += directive(1, std::string(name) + "_temp_path", work_file(settings, machine, name));
  }
  return text + "\n";
}

std::string upstream_section(const Upstream& upstream) {
  std::string text = "    # The application. Connections are kept open; it is asked again at once after a failure.\n";
  text += "    upstream fairway_upstream {\n";
  text += directive(2, "server", upstream.authority() + " max_fails=0");
  text += R"(        keepalive 64;
    }
    # WebSocket and the like are passed on, but not HTTP/2: requests in there would be seen by nobody here.
    map $http_upgrade $fairway_upgrade {
        default $http_upgrade;
        "~*h2c|http/2" "";
    }
    map $fairway_upgrade $fairway_connection {  # any other request reuses a connection
        default upgrade;
        "" "";
    }
    map $http_host $fairway_host {  # as the visitor wrote it, with the port
        default $http_host;
        "" $host;
    }

)";
  return text;
}

std::string proxy_section(const RunSettings& settings) {
  const Upstream& upstream = settings.upstream;
  const bool proxied = !settings.proxy.networks.empty();
  std::string text =
      directive(3, "proxy_pass", nginx_quote(std::string(upstream.tls ? "https" : "http") + "://fairway_upstream" + upstream.path));
  text += "            proxy_http_version 1.1;\n";
  text += "            proxy_set_header Host $fairway_host;\n";
  text += directive(3, "proxy_set_header X-Forwarded-For", proxied ? "$fairway_forwarded_for" : "$remote_addr");
  text += directive(3, "proxy_set_header X-Forwarded-Proto", proxied ? "$fairway_forwarded_proto" : "$scheme");
  text += directive(3, "proxy_set_header X-Forwarded-Host", proxied ? "$fairway_forwarded_host" : "$fairway_host");
  text += "            proxy_set_header Upgrade $fairway_upgrade;\n";
  text += "            proxy_set_header Connection $fairway_connection;\n";
  if (!upstream.path.empty()) {
    const std::string path = nginx_quote(upstream.path);
    text += directive(3, "proxy_redirect", path + " /") + directive(3, "proxy_cookie_path", path + " /");
  }
  if (upstream.tls) {
    text += "            proxy_ssl_server_name on;  # the certificate is not checked; proxy_ssl_verify does that\n";
    text += directive(3, "proxy_ssl_name", upstream.host.find(':') == std::string::npos ? upstream.host : '[' + upstream.host + ']');
  }
  return text;
}

std::string server_section(const RunSettings& settings, const Machine& machine) {
  std::string text = "    server {\n";
  for (const Listen& socket : settings.listen.sockets()) text += directive(2, "listen", socket.authority() + " default_server");
  text += "        client_max_body_size 0;  # the application sets the limit\n";
  text += settings.capacity ? directive(2, "waiting_room", kRoom)
                            : "        waiting_room auto;  # none, unless the console makes one and attaches it\n";
  if (settings.concurrency) text += directive(2, "fair_queue", kQueue);
  text += "\n" + console_location(settings, machine);
  return text + "\n        location / {\n" + proxy_section(settings) + "        }\n    }\n";
}

}  // namespace

std::string nginx_config(const RunSettings& settings, const Machine& machine, Secrets secrets) {
  std::string text = main_section(settings, machine, secrets) + "\nhttp {\n    server_tokens off;\n\n";
  text += store_section(settings, machine, secrets) + rules_section(settings) + real_ip_section(settings.proxy);
  text += log_section(settings, machine) + temp_section(settings, machine);
  text +=
      console_rules(settings) + upstream_section(settings.upstream) + forwarded_maps(settings.proxy) + server_section(settings, machine);
  return text + "}\n";
}

}  // namespace fairway::cli
