#!/usr/bin/env bash
# Installs the server infinity into .venv-infinity, for make bench-encoders ENCODERS='--peer infinity'. Its torch is that of
# .venv-vllm, which tools/setup-vllm.sh installs first. Run tools/setup.sh first, because this script uses its Python. A
# repeated run ends at once; an interrupted run starts again from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

# finish DIR makes torch's packages importable. Python looks into them after the environment's own packages.
finish() {
    local site
    site=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "$torch" >"$site/torch.pth"
    HF_HUB_OFFLINE=1 "$1/bin/infinity_emb" v2 --help >/dev/null 2>>"$1/setup.log" ||
        die "infinity doesn't start: $(tail -n1 "$1/setup.log") (more in $1/setup.log)"
}

"$repo/tools/setup-vllm.sh"
python=$repo/.venv/bin/python
torch=$("$repo/.venv-vllm/bin/python" -c 'import os, sysconfig; print(os.path.realpath(sysconfig.get_path("purelib")))')
lock_cache
environment .venv-infinity "130 MB" "$python" tools/infinity-requirements.txt finish "$torch"
