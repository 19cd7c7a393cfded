#!/usr/bin/env bash
# Installs Zig into .venv-release, for make release: its C compiler links for any architecture against an old glibc, so that a
# release runs where Triton's containers do. A repeat run ends at once, an interrupted one is done again from the start.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
dir=$repo/.venv-release
requirements=$repo/tools/release-requirements.txt

say() { printf 'setup-release: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

python=${TRIDENT_PYTHON:-python3}
"$python" -c 'import ensurepip, venv' 2>/dev/null || die "$python lacks the venv module: apt-get install python3-venv, or set TRIDENT_PYTHON to another Python"
stamp=$({ cat "${BASH_SOURCE[0]}" "$requirements"; "$python" -V; echo "$repo"; } | sha256sum | cut -d' ' -f1)
if [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$stamp" ]; then
    say "${dir##*/} is up to date"
    exit
fi
rm -rf "$dir"
say "${dir##*/}: download and install, 94 MB"
"$python" -m venv "$dir"
"$dir/bin/python" -m pip --disable-pip-version-check --quiet --log "$dir/setup.log" install --progress-bar off --no-deps --only-binary=:all: -r "$requirements" ||
    die "pip failed: check the network, the proxy (HTTPS_PROXY), the mirror (PIP_INDEX_URL) and the disk, then run this again (all of its output in $dir/setup.log)"
"$dir/bin/python" -m ziglang version >/dev/null 2>>"$dir/setup.log" || die "zig doesn't start: $(tail -n1 "$dir/setup.log") (more in $dir/setup.log)"
echo "$stamp" >"$dir/.stamp"
say "${dir##*/} is ready"
