#!/usr/bin/env bash
# Installs the packages that DIR's lock file pins into DIR/node_modules: npm-ci.sh DIR. npm installs them once. After
# that each clone gets hard links from the cache, or copies if the cache is on another file system. So no program may
# write into an installed file; it must replace the file, as npm does. The packages' install scripts don't run; none of
# the packages needs them.
#
# Only one run at a time is allowed per folder. buf starts a plugin for several folders at once, and two npm processes
# in one folder remove each other's files.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"
PATH=$repo/.venv-test/bin:$PATH
cd "$1"
name=${PWD#"$repo"/}
command -v npm >/dev/null || die "$name needs node 22 and npm: make setup-test installs them"
exec 9<package.json
flock 9

platform=$(node -p 'process.version + process.platform + process.arch')
hash=$({ cat package.json package-lock.json && echo "$platform"; } | sha256sum | cut -c1-16)
entry=$cache/node/$hash
if [ "$(cat node_modules/.stamp 2>/dev/null)" = "$hash" ]; then
    [ ! -d "$entry" ] || touch "$entry"
    exit
fi

# copy FROM TO copies the files of a folder into another folder without files.
copy() { cp -al "$1/." "$2" 2>/dev/null || { rm -rf "$2" && cp -a "$1" "$2"; }; }

rm -rf node_modules
if [ -d "$entry" ]; then
    touch "$entry"
    copy "$entry" node_modules
    say "$name: taken from the cache"
else
    start=$SECONDS before=$(megabytes "$cache/npm")
    npm_config_cache=$cache/npm npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error >/dev/null
    # Later npm commands write into this file. If it is missing, npm reads the folders.
    rm -f node_modules/.package-lock.json
    new=$(mktemp -d "$cache/node/new-XXXXXX")
    copy node_modules "$new"
    # Another clone may have created the entry first.
    mv -T "$new" "$entry" 2>/dev/null || rm -rf "$new"
    say "$name: installed in $((SECONDS - start)) s, $(megabytes node_modules) MB; downloaded $(($(megabytes "$cache/npm") - before)) MB"
fi
echo "$hash" >node_modules/.stamp
