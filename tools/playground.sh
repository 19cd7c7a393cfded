#!/usr/bin/env bash
# Builds the client, web/client/dist, and the playground, web/dist, with the packages that the lock files pin. Needs
# node 22 and npm, from make setup-test or from PATH.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PATH=$PWD/.venv-test/bin:$PATH
cd web

build() {
    ../tools/npm-ci.sh "$1"
    (cd "$1" && npm run --silent build) >&2
}

rm -rf dist
build client
build playground
# Two of the packages have their licence only in their sources.
varint=playground/node_modules/@bufbuild/protobuf/dist/esm/wire/varint.js
{
    printf '\n@bufbuild and @connectrpc are under the Apache License 2.0, which is Trident'\''s own. @bufbuild/protobuf also has:\n\n'
    sed -n '/^\/\/ Copyright/,/POSSIBILITY OF SUCH DAMAGE/p' "$varint" | sed 's|^// \{0,1\}||'
} >>dist/licenses.md
