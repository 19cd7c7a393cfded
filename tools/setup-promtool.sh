#!/usr/bin/env bash
# Installs promtool, of Debian's package prometheus, where it is missing and this is root on such a system. It is no reason to fail:
# without it the tests of the alerts say so and are skipped. The package is unpacked, not installed: nothing starts.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }
skip() { say "no promtool: $*; the tests of the alerts will be skipped"; exit 0; }

! command -v promtool >/dev/null || exit 0
command -v apt-get >/dev/null || skip "install Prometheus"
[ "$(id -u)" = 0 ] || skip "apt-get install prometheus"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 777 "$dir"
say "promtool [1/1] apt-get download prometheus"
cd "$dir"
{ apt-get download prometheus || { apt-get update && apt-get download prometheus; }; } >log 2>&1 ||
    skip "apt-get can't download it ($(grep '^E:' log | tail -n1))"
dpkg -x prometheus_*.deb .
install usr/bin/promtool /usr/local/bin/promtool
