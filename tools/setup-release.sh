#!/usr/bin/env bash
# Installs Zig into .venv-release, for make release. Its C compiler links for any architecture against an old glibc, so
# that a release runs in all supported Triton containers. A repeated run ends at once; an interrupted run starts again
# from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

finish() {
    "$1/bin/python" -m ziglang version >/dev/null 2>>"$1/setup.log" || die "zig doesn't start: $(tail -n1 "$1/setup.log") (more in $1/setup.log)"
}

python=${TRIDENT_PYTHON:-python3}
"$python" -c 'import ensurepip, venv' 2>/dev/null || die "$python lacks the venv module: apt-get install python3-venv, or set TRIDENT_PYTHON to another Python"
lock_cache
environment .venv-release "94 MB" "$python" tools/release-requirements.txt finish
