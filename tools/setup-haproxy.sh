#!/usr/bin/env bash
# Installs haproxy, from Debian's packages, if it is missing and this script runs as root on such a system. A failure is
# not an error: without haproxy, the test of restarts behind a balancer logs this and is skipped. haproxy runs
# with the libraries beside it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
# shellcheck source-path=SCRIPTDIR source=debian.sh
. "$repo/tools/debian.sh"

skip() { say "haproxy isn't installed: $*; the test of restarts behind a balancer will be skipped"; exit 0; }

# runs DIR: haproxy starts with the libraries in DIR.
runs() { LD_LIBRARY_PATH=$1 "$1/haproxy" -v >/dev/null 2>&1; }

debian_package haproxy haproxy
lock_cache
program=$(debian_entry haproxy)
if [ -d "$program" ]; then
    say "haproxy: taken from the cache"
else
    dir=$(mktemp -d "$cache/bin/new-XXXXXX")
    trap 'rm -rf "$dir"' EXIT
    cd "$dir"
    unpack_packages haproxy haproxy liblua5.3-0 libopentracing-c-wrapper0 libopentracing1
    mkdir program
    mv usr/sbin/haproxy usr/lib/*/lib*.so* program
    runs program || skip "it doesn't start: $(LD_LIBRARY_PATH=program program/haproxy -v 2>&1 | head -n1)"
    mv program "$program"
fi
touch "$program"
rm -rf /usr/local/lib/trident-haproxy
cp -r "$program" /usr/local/lib/trident-haproxy
cat >/usr/local/bin/haproxy <<'EOF'
#!/bin/sh
LD_LIBRARY_PATH=/usr/local/lib/trident-haproxy exec /usr/local/lib/trident-haproxy/haproxy "$@"
EOF
chmod 755 /usr/local/bin/haproxy
