#!/usr/bin/env bash
# Runs each of the Go fuzz targets for a while: tools/fuzz.sh TIME, such as 30s. Four run side by side, as some of them are
# being built more often than not. What a target finds it leaves in testdata/fuzz of its package, to be committed with the
# repair.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target() {
    local time=$1 file=$2 name=$3 out
    if out=$(go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -parallel 1 "./${file%/*}" 2>&1); then
        printf 'fuzz: %s: %s\n' "$name" "$(grep -o 'execs: [0-9]*' <<<"$out" | tail -n1)"
    else
        printf 'fuzz: %s in %s failed\n%s\n' "$name" "${file%/*}" "$out" >&2
        return 1
    fi
}
export -f target

grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' services cmd api test |
    sed 's/:func / /' | xargs -P 4 -L 1 bash -c 'target "$@"' fuzz "$1"
