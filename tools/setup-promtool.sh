#!/usr/bin/env bash
# Installs promtool, from Debian's package prometheus, if it is missing and this script runs as root on such a system. A
# failure is not an error: without promtool, the tests of the alerts log this and are skipped. The package is unpacked,
# not installed, so no service starts.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

skip() { say "promtool isn't installed: $*; the tests of the alerts will be skipped"; exit 0; }

! path=$(command -v promtool) || { say "promtool: $path"; exit 0; }
command -v apt-get >/dev/null || skip "install Prometheus"
[ "$(id -u)" = 0 ] || skip "apt-get install prometheus"
lock_cache
program=$cache/bin/promtool-$(sha256sum </etc/os-release | cut -c1-16)
if [ -x "$program" ]; then
    say "promtool: taken from the cache"
else
    dir=$(mktemp -d "$cache/bin/new-XXXXXX")
    trap 'rm -rf "$dir"' EXIT
    chmod 777 "$dir"
    say "promtool [1/1] apt-get download prometheus"
    cd "$dir"
    { apt-get download prometheus || { apt-get update && apt-get download prometheus; }; } >log 2>&1 ||
        skip "apt-get can't download it ($(grep '^E:' log | tail -n1))"
    say "promtool: downloaded $(megabytes .) MB"
    dpkg -x prometheus_*.deb .
    mv usr/bin/promtool "$program"
fi
touch "$program"
install "$program" /usr/local/bin/promtool
