#!/usr/bin/env bash
# Installs nginx and Caddy, from Debian's packages, if they are missing and this script runs as root on such a system. A
# failure is not an error: the test of a proxy that is missing logs this and is skipped.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
# shellcheck source-path=SCRIPTDIR source=debian.sh
. "$repo/tools/debian.sh"

# install PROGRAM PATH VERSION-OPTION installs a program from the package of the same name, in which it has the path. It
# runs in a subshell, because debian_package and skip end the shell.
install() (
    name=$1
    skip() { say "$name isn't installed: $*; its test will be skipped"; exit 0; }
    debian_package "$name" "$name"
    lock_cache
    program=$(debian_entry "$name")
    if [ -f "$program" ]; then
        say "$name: taken from the cache"
    else
        dir=$(mktemp -d "$cache/bin/new-XXXXXX")
        trap 'rm -rf "$dir"' EXIT
        cd "$dir"
        unpack_packages "$name" "$name"
        "$2" "$3" >/dev/null 2>version || skip "it doesn't start: $(head -n1 version)"
        mv "$2" "$program"
    fi
    touch "$program"
    cp "$program" "/usr/local/bin/$name"
)

install nginx usr/sbin/nginx -v
install caddy usr/bin/caddy version
