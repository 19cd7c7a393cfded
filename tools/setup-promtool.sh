#!/usr/bin/env bash
# Installs promtool, from Debian's package prometheus, if it is missing and this script runs as root on such a system. A
# failure is not an error: without promtool, the tests of the alerts log this and are skipped.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
# shellcheck source-path=SCRIPTDIR source=debian.sh
. "$repo/tools/debian.sh"

skip() { say "promtool isn't installed: $*; the tests of the alerts will be skipped"; exit 0; }

debian_package promtool prometheus
lock_cache
program=$(debian_entry promtool)
if [ -x "$program" ]; then
    say "promtool: taken from the cache"
else
    dir=$(mktemp -d "$cache/bin/new-XXXXXX")
    trap 'rm -rf "$dir"' EXIT
    cd "$dir"
    unpack_packages promtool prometheus
    mv usr/bin/promtool "$program"
fi
touch "$program"
install "$program" /usr/local/bin/promtool
