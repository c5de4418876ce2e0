"""The waiting room's cost at the gateway: what a visitor inside pays, and what a flood costs, beside nginx alone and ngx_lua.

One nginx worker on one core; the load generator and the application on the other. Paired: A B A B ..., ratios pair by pair."""

from pathlib import Path

from gateway_pairs import Server, alternate, rate_of, table

HERE = Path(__file__).resolve().parent
LUA_MODULES = ("/usr/lib/nginx/modules/ndk_http_module.so", "/usr/lib/nginx/modules/ngx_http_lua_module.so")

APPLICATION = 'server { listen unix:@PREFIX@/app.sock; location / { default_type text/plain; return 200 "ok\\n"; } }'
GATEWAY = """
    lua_package_path "@LUA@/?.lua;;";
    init_by_lua_block { check = require "check"; check.refresh = 3000; check.set_key("bench", "@KEY@") }
    upstream app { server unix:@APP@; keepalive 64; keepalive_requests 1000000000; }
    proxy_http_version 1.1; proxy_set_header Connection "";
    waiting_room sale { capacity 1000; session_timeout 6000s; refresh 3000s; }
    server { listen @LISTEN@; location / { proxy_pass http://app; } location /return { return 302 /__fairway/sale/check?to=/return; } }
    server { listen @LISTEN2@; location / { waiting_room sale; proxy_pass http://app; } }
    server { listen @LISTEN3@; location / { access_by_lua_block { check.access("sale") } proxy_pass http://app; } }
"""
KEY = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="


def run(pairs, seconds):
    with Server(APPLICATION, core=1) as application:
        options = {"app": application.prefix / "app.sock", "lua": HERE, "key": KEY}
        with Server(GATEWAY, core=0, modules=LUA_MODULES, keys=f"bench:{KEY}\n", **options) as gateway:
            plain, room, lua = (gateway.url(index) for index in (1, 2, 3))
            cookie = "; ".join(f"{name}={value}" for name, value in gateway.come_in(2).items())
            inside = [("Cookie", f"theme=dark; {cookie}"), ("Accept", "text/html")]
            page = [("Accept", "text/html")]
            passes = alternate(pairs, {
                "nginx alone": lambda: rate_of(plain + "/shop", inside, seconds, 200),
                "waiting_room": lambda: rate_of(room + "/shop", inside, seconds, 200),
                "ngx_lua": lambda: rate_of(lua + "/shop", inside, seconds, 200),
            })
            flood = alternate(pairs, {
                "nginx return 302": lambda: rate_of(plain + "/return", page, seconds, 302),
                "waiting_room": lambda: rate_of(room + "/shop", page, seconds, 302),
            })
    return [
        "## A visitor inside: requests per second through a room\n",
        "Proxied 3-byte response, keep-alive, one worker. The check of the same pass written for ngx_lua (HMAC through FFI, `bench/check.lua`) stands beside it as the usual way.\n",
        table(passes, "nginx alone", {"waiting_room": "at least 0.97"}),
        "## A flood without cookies: answers per second\n",
        "Each answer of the room carries a freshly signed ticket; nginx's own `return 302` carries none.\n",
        table(flood, "nginx return 302", {"waiting_room": "at least 0.90"}),
    ]
