#!/usr/bin/env bash
# Installs the packages that DIR's lock file pins, where they aren't: npm-ci.sh DIR. One at a time: buf starts a plugin for
# several folders at once, and two npm at work in one folder remove each other's files.
set -euo pipefail
cd "${BASH_SOURCE[0]%/*}/../$1"
command -v npm >/dev/null || { echo "$1 needs node 22 and npm: make setup-test installs them" >&2; exit 1; }
exec 9<package.json
flock 9
cmp -s package-lock.json node_modules/.lock && exit
npm ci --no-audit --no-fund --loglevel=error >&2
cp package-lock.json node_modules/.lock
