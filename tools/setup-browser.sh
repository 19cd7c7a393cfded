#!/usr/bin/env bash
# Installs the browser of the tests, Debian's chromium, where it is missing and this is root on such a system. It is no reason
# to fail: without it the test of a page in a browser says so and is skipped.
set -euo pipefail

say() { printf 'setup: %s\n' "$*" >&2; }
skip() { say "no chromium: $*; the test of a page in a browser will be skipped"; exit 0; }

! command -v chromium >/dev/null || exit 0
command -v apt-get >/dev/null || skip "install it by the name chromium"
[ "$(id -u)" = 0 ] || skip "apt-get install chromium"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
say "chromium [1/1] apt-get install"
export DEBIAN_FRONTEND=noninteractive
{ apt-get update && apt-get install -y --no-install-recommends chromium; } >"$log" 2>&1 ||
    skip "apt-get can't install it ($(grep '^E:' "$log" | tail -n1))"
