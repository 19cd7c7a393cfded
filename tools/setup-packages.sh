#!/usr/bin/env bash
# Installs what make test-release needs besides setup-test. auditwheel and spdx-tools come into .venv-packages. If this
# script runs as root on Debian, it also installs rpm, qemu's user-mode emulation and the libraries of arm64. Without
# them, their cases are skipped.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

finish() { :; }

lock_cache
environment .venv-packages "3 MB" "${TRIDENT_PYTHON:-python3}" tools/packages-requirements.txt finish

skip() { say "rpm and qemu aren't installed: $*; their cases will be skipped"; exit 0; }

missing=
for program in rpm qemu-aarch64; do command -v "$program" >/dev/null || missing=yes; done
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null || skip "install rpm and qemu-user"
[ "$(id -u)" = 0 ] || skip "apt-get install rpm qemu-user libc6-arm64-cross"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
say "rpm, qemu-user [1/1] apt-get install"
export DEBIAN_FRONTEND=noninteractive
{ apt-get update && apt-get -o Dir::Cache::archives="$cache/apt" -o APT::Keep-Downloaded-Packages=true install -y --no-install-recommends rpm qemu-user libc6-arm64-cross; } >"$log" 2>&1 ||
    skip "apt-get can't install them ($(grep '^E:' "$log" | tail -n1))"
