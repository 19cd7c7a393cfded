#!/usr/bin/env bash
# Installs Sphinx into .venv-docs, and the npm packages of tools/docs: for make docs. Run tools/setup.sh --test first,
# because this script uses its Node. A repeated run ends at once; an interrupted run starts again from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

finish() {
    "$1/bin/python" -c 'import furo, myst_parser, sphinx' 2>>"$1/setup.log" || die "Sphinx can't be imported: $(tail -n1 "$1/setup.log") (more in $1/setup.log)"
}

python=$repo/.venv/bin/python
[ -x "$python" ] || die "there is no .venv yet: run make setup-test"
lock_cache
environment .venv-docs "10 MB" "$python" tools/docs-requirements.txt finish
unlock_cache
"$repo/tools/npm-ci.sh" "$repo/tools/docs"
