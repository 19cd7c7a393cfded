#!/usr/bin/env bash
# Installs into DIR/node_modules the packages that DIR's lock file pins: npm-ci.sh DIR. npm installs them once; after that each
# clone gets hard links from the cache, or copies where the cache is on another file system. So nothing may write into an
# installed file: replace it instead, as npm does. No script of a package is run; none of ours needs that.
#
# One run at a time in a folder: buf starts a plugin for several folders at once, and two npm at work in one folder remove each
# other's files.
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

# copy FROM TO: the files of one folder into another, which has none.
copy() { cp -al "$1/." "$2" 2>/dev/null || { rm -rf "$2" && cp -a "$1" "$2"; }; }

rm -rf node_modules
if [ -d "$entry" ]; then
    touch "$entry"
    copy "$entry" node_modules
    say "$name: from the cache"
else
    start=$SECONDS before=$(megabytes "$cache/npm")
    npm_config_cache=$cache/npm npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error >/dev/null
    # npm writes into this file later. Without it npm reads the folders.
    rm -f node_modules/.package-lock.json
    new=$(mktemp -d "$cache/node/new-XXXXXX")
    copy node_modules "$new"
    # Another clone may have been faster.
    mv -T "$new" "$entry" 2>/dev/null || rm -rf "$new"
    say "$name: installed in $((SECONDS - start)) s, $(megabytes node_modules) MB; downloaded $(($(megabytes "$cache/npm") - before)) MB"
fi
echo "$hash" >node_modules/.stamp
