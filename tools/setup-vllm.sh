#!/usr/bin/env bash
# Installs vLLM's build for CPUs into .venv-vllm, for tools/vllm.sh. Run tools/setup.sh first, because this script uses
# its Python. A repeated run ends at once; an interrupted run starts again from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

finish() {
    "$1/bin/python" -c 'import numpy, tokenizers, torch, xgrammar, llguidance, outlines_core
import vllm.version' 2>>"$1/setup.log" || die "vLLM can't be imported: $(tail -n1 "$1/setup.log") (more in $1/setup.log)"
}

python=$repo/.venv/bin/python
[ -x "$python" ] || die "there is no .venv yet: run make setup"
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    die "the list of packages is for Python 3.11, but .venv has $("$python" -V): set TRIDENT_PYTHON to a Python 3.11, and make setup"
lock_cache
environment .venv-vllm "3.6 GB" "$python" tools/vllm-requirements.txt finish
