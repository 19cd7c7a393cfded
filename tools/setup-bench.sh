#!/usr/bin/env bash
# Installs NVIDIA's AIPerf into .venv-bench, for make bench-genai. Run it after tools/setup.sh, whose Python it takes.
# A repeat run ends at once, an interrupted one is done again from the start.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
dir=$repo/.venv-bench
requirements=$repo/tools/bench-requirements.txt

say() { printf 'setup-bench: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

python=$repo/.venv/bin/python
[ -x "$python" ] || die "there is no .venv yet: run make setup"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "AIPerf needs Python 3.11 or 3.12, but .venv has $("$python" -V): make clean, set TRIDENT_PYTHON to a newer one, and make setup"
stamp=$({ cat "${BASH_SOURCE[0]}" "$requirements"; "$python" -V; echo "$repo"; } | sha256sum | cut -d' ' -f1)
if [ "$(cat "$dir/.stamp" 2>/dev/null)" = "$stamp" ]; then
    say "${dir##*/} is up to date"
    exit
fi
rm -rf "$dir"
say "${dir##*/}: download and install, 350 MB"
"$python" -m venv "$dir"
"$dir/bin/python" -m pip --disable-pip-version-check --quiet --log "$dir/setup.log" install --progress-bar off --no-deps --only-binary=:all: -r "$requirements" ||
    die "pip failed: check the network, the proxy (HTTPS_PROXY), the mirror (PIP_INDEX_URL) and the disk, then run this again (all of its output in $dir/setup.log)"
"$dir/bin/aiperf" --version >/dev/null 2>>"$dir/setup.log" || die "aiperf doesn't start: $(tail -n1 "$dir/setup.log") (more in $dir/setup.log)"
echo "$stamp" >"$dir/.stamp"
say "${dir##*/} is ready"
