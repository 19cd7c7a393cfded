#!/usr/bin/env bash
# Installs the browser of the tests, Debian's chromium, if it is missing and this script runs as root on such a system.
# A failure is not an error: without the browser, its test logs this and is skipped. The downloaded packages stay in the
# cache.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

skip() { say "chromium isn't installed: $*; the tests in a browser will be skipped"; exit 0; }

! path=$(command -v chromium) || { say "chromium: $path"; exit 0; }
command -v apt-get >/dev/null || skip "install it by the name chromium"
[ "$(id -u)" = 0 ] || skip "apt-get install chromium"
lock_cache
log=$(mktemp)
trap 'rm -f "$log"' EXIT
start=$SECONDS before=$(megabytes "$cache/apt")
say "chromium [1/1] apt-get install"
export DEBIAN_FRONTEND=noninteractive
{ apt-get update && apt-get -o Dir::Cache::archives="$cache/apt" -o APT::Keep-Downloaded-Packages=true install -y --no-install-recommends chromium; } >"$log" 2>&1 ||
    skip "apt-get can't install it ($(grep '^E:' "$log" | tail -n1))"
say "chromium: installed in $((SECONDS - start)) s, downloaded $(($(megabytes "$cache/apt") - before)) MB"
