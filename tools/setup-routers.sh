#!/usr/bin/env bash
# Installs the routers of SGLang and vLLM into .venv-routers, for make bench-fleet. Run tools/setup.sh first, because this
# script uses its Python. A repeated run ends at once; an interrupted run starts again from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

finish() {
    for router in sglang_router vllm_router; do
        "$1/bin/python" -m "$router.launch_router" --help >/dev/null 2>>"$1/setup.log" ||
            die "$router doesn't start: $(tail -n1 "$1/setup.log") (more in $1/setup.log)"
    done
}

python=$repo/.venv/bin/python
[ -x "$python" ] || die "there is no .venv yet: run make setup"
lock_cache
environment .venv-routers "60 MB" "$python" tools/routers-requirements.txt finish
