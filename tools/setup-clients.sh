#!/usr/bin/env bash
# Installs the published programs that test/clients runs against Trident.
#
#   tools/setup-clients.sh          installs all of them
#   tools/setup-clients.sh NAME...  installs only these lists
#
# Each list of packages in test/clients/requirements gets a virtual environment of its own, .venv-clients-NAME, because
# the programs need different versions of the same packages. The lists are complete and are installed without
# dependencies; all files have hashes. Without names the packages of npm are installed too, into test/clients/node. Run
# tools/setup.sh --test first, because this script uses its Python and its node. A repeated run ends at once; an
# interrupted run continues with the list that was interrupted.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

# finish DIR checks that the list has all packages that its packages need, unless the list says that it omits some.
finish() {
    grep -q '^# Omits ' "$repo/$list" || pip "$1" check >/dev/null ||
        die "$list is incomplete: $1/bin/python -m pip check"
}

python=$repo/.venv/bin/python
[ -x "$python" ] && [ -x "$repo/.venv-test/bin/node" ] || die "there is no .venv or no .venv-test yet: run make setup-test"
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    die "the lists of packages are for Python 3.11, but .venv has $("$python" -V): set TRIDENT_PYTHON to a Python 3.11, and make setup-test"

names=("$@")
if [ $# -eq 0 ]; then
    for file in "$repo"/test/clients/requirements/*.txt; do names+=("$(basename "$file" .txt)"); done
fi
lock_cache
for name in "${names[@]}"; do
    list=test/clients/requirements/$name.txt
    [ -e "$repo/$list" ] || die "there is no $list"
    environment ".venv-clients-$name" "$(sed -n 's/^# Downloads: //p' "$repo/$list")" "$python" "$list" finish
done
unlock_cache
[ $# -gt 0 ] || "$repo/tools/npm-ci.sh" "$repo/test/clients/node"
