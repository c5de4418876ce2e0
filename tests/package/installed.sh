#!/bin/bash
# installed.sh FOLDER: as root, in namespaces of its own, what an administrator does with the packages in FOLDER. The system below is this
# one, through an overlay that is thrown away: nothing is installed outside.
set -euo pipefail
folder=$(realpath "$1")

if [[ ${2-} != inside ]]; then
  exec unshare --mount --net --pid --fork --mount-proc bash "$0" "$folder" inside
fi

say() { printf '%s\n' "$*"; }
fail() {
  printf 'not so: %s\n' "$*" >&2
  exit 1
}

ip link set lo up 2>/dev/null || true
root=$(mktemp -d)
mount -t tmpfs tmpfs "$root"
mkdir "$root"/{upper,work,system}
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/system"
cd "$root/system"
mkdir -p run packages outside
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs run
mount --bind "$folder" packages
pivot_root . outside # not chroot, in which Debian's scripts start and restart nothing
cd /
rm -f /usr/sbin/policy-rc.d /etc/nginx/modules-enabled/*-mod-http-fairway.conf /etc/nginx/sites-enabled/default

link=/etc/nginx/modules-enabled/50-mod-http-fairway.conf
site=/etc/nginx/conf.d/fairway.conf
packages=(/packages/libnginx-mod-http-fairway_*.deb /packages/fairway_*.deb)
install_both() { dpkg -i "${packages[@]}" >/run/dpkg.log 2>&1 || { cat /run/dpkg.log && fail "$1"; }; }
master() { cat /run/nginx.pid; }

install_both "the packages can be installed"
test -L "$link" || fail "the module is enabled"
nginx -t -q || fail "nginx loads the module"
fairway --version | grep -q '^fairway [0-9]' || fail "the command runs"
test -f /usr/share/man/man1/fairway.1.gz -a -f /usr/share/bash-completion/completions/fairway || fail "manual page and completion are there"
documents=/usr/share/doc/fairway
grep -oE '\]\((docs|bench)/[^)#]+' "$documents/README.md" | while IFS= read -r link; do
  test -f "$documents/${link#](}" || fail "README.md leads to ${link#](}"
done
test -f "$documents/docs/alerts.yml" -a -f "$documents/docs/grafana-dashboard.json" -a -f "$documents/docs/room.svg" || fail "alerts, dashboard and pictures can be used as they are"
say "installed"

cat >"$site" <<'CONF'
waiting_room sale { capacity 10; }
server { listen 127.0.0.1:8099; location / { waiting_room sale; root /usr/share/nginx/html; } }
CONF
update-rc.d nginx enable
export RUNLEVEL=2 PREVLEVEL=N # what invoke-rc.d asks for where no init runs
service nginx start >/dev/null || fail "nginx starts"
answer=$(curl -s -i -H 'Accept: text/html' http://127.0.0.1:8099/) || fail "the gateway answers"
[[ $answer == *' 302 '* && $answer == *'Set-Cookie: fairway_ticket_sale='* ]] || fail "a newcomer gets a ticket: $answer"
say "works"

before=$(master)
install_both "an upgrade works"
for ((i = 0; i < 100; i++)); do
  [[ -s /run/nginx.pid && $(master) != "$before" ]] && break
  sleep 0.1
done
[[ $(master) != "$before" ]] || fail "an upgrade restarts nginx"
curl -s -o /dev/null http://127.0.0.1:8099/ || fail "the gateway answers after it"
before=$(master)
printf 'waiting_room broken { }\n' >>"$site"
install_both "an upgrade works with a broken configuration"
grep -q 'nginx -t finds faults' /run/dpkg.log || fail "it says why nginx was not restarted"
[[ $(master) == "$before" ]] || fail "a broken configuration stops nothing"
say "upgraded"

service nginx stop >/dev/null || fail "nginx stops"
rm "$site"
dpkg -r fairway libnginx-mod-http-fairway >/run/dpkg.log 2>&1 || { cat /run/dpkg.log && fail "the packages can be removed"; }
test ! -e "$link" -a ! -e /usr/bin/fairway -a ! -e /usr/lib/nginx/modules/ngx_http_fairway_module.so || fail "nothing is left behind"
nginx -t -q || fail "nginx starts without the module"
dpkg -P fairway libnginx-mod-http-fairway >/dev/null 2>&1 || fail "the packages can be purged"
[[ -z $(find /etc/nginx -name '*fairway*') ]] || fail "a purge leaves no link"
say "removed"
