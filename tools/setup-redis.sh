#!/usr/bin/env bash
# Installs redis-server, from Debian's packages, if it is missing and this script runs as root on such a system. A failure
# is not an error: without redis-server, the tests of the shared store log this and are skipped. It runs with the libraries
# beside it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
# shellcheck source-path=SCRIPTDIR source=debian.sh
. "$repo/tools/debian.sh"

skip() { say "redis-server isn't installed: $*; the tests of the shared store will be skipped"; exit 0; }

# runs DIR: redis-server starts with the libraries in DIR.
runs() { LD_LIBRARY_PATH=$1 "$1/redis-server" --version >/dev/null 2>&1; }

debian_package redis-server redis-server
lock_cache
program=$(debian_entry redis-server)
if [ -d "$program" ]; then
    say "redis-server: taken from the cache"
else
    dir=$(mktemp -d "$cache/bin/new-XXXXXX")
    trap 'rm -rf "$dir"' EXIT
    cd "$dir"
    unpack_packages redis-server redis-tools libjemalloc2 liblua5.1-0 liblzf1 lua-bitop lua-cjson libhiredis0.14 libatomic1
    mkdir program
    cp usr/bin/redis-check-rdb program/redis-server # it is the server under its other name
    find usr -name '*.so*' -exec cp {} program/ \;
    runs program || skip "it doesn't start: $(LD_LIBRARY_PATH=program program/redis-server --version 2>&1 | head -n1)"
    mv program "$program"
fi
touch "$program"
rm -rf /usr/local/lib/trident-redis
cp -r "$program" /usr/local/lib/trident-redis
cat >/usr/local/bin/redis-server <<'EOF'
#!/bin/sh
LD_LIBRARY_PATH=/usr/local/lib/trident-redis exec /usr/local/lib/trident-redis/redis-server "$@"
EOF
chmod 755 /usr/local/bin/redis-server
