#!/usr/bin/env bash
# Installs NVIDIA's AIPerf into .venv-bench, for make bench-genai. Run tools/setup.sh first, because this script uses
# its Python. A repeated run ends at once; an interrupted run starts again from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

finish() {
    "$1/bin/aiperf" --version >/dev/null 2>>"$1/setup.log" || die "aiperf doesn't start: $(tail -n1 "$1/setup.log") (more in $1/setup.log)"
}

python=$repo/.venv/bin/python
[ -x "$python" ] || die "there is no .venv yet: run make setup"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    die "AIPerf needs Python 3.11 or 3.12, but .venv has $("$python" -V): set TRIDENT_PYTHON to a newer one, and make setup"
lock_cache
environment .venv-bench "350 MB" "$python" tools/bench-requirements.txt finish
