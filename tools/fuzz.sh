#!/usr/bin/env bash
# Runs each of the Go fuzz targets for a while: tools/fuzz.sh SECONDS. Four run side by side. What a target finds it leaves in
# testdata/fuzz of its package, to be committed with the repair.
#
# A target is interrupted, as by ^C, when its time is over: with -fuzztime Go 1.26 fails now and then at the end with "context
# deadline exceeded" and no input (golang/go#75804, mended in 1.27).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export seconds=$1 binaries="$PWD/.cache/fuzz" inputs
inputs=$(go env GOCACHE)/fuzz/trident
mkdir -p "$binaries"

# binary PACKAGE: where its instrumented tests are.
binary() { printf '%s/%s.test' "$binaries" "${1//\//-}"; }

target() {
    local package=$1 name=$2 out status=0
    out=$(cd "$package" && timeout --foreground --preserve-status --signal=INT --kill-after=30 "$seconds" "$(binary "$package")" -test.run '^$' \
        -test.fuzz "^$name\$" -test.fuzzcachedir "$inputs/$package" -test.parallel 1 2>&1) || status=$?
    if [[ $status = 0 && $out = *fuzz:* ]]; then
        printf 'fuzz: %s: %s\n' "$name" "$(grep -oE 'execs: [0-9]+|gathering.*' <<<"$out" | tail -n1)"
    else
        printf 'fuzz: %s in %s failed (status %s)\n%s\n' "$name" "$package" "$status" "$out" >&2
        return 1
    fi
}
export -f binary target

targets=$(grep -rHo --include='*_test.go' '^func Fuzz[A-Za-z]*' services cmd api test | sed 's,/[^/]*:func , ,')
cut -d' ' -f1 <<<"$targets" | sort -u | while read -r package; do
    go test -c -fuzz . -o "$(binary "$package")" "./$package"
done
xargs -P 4 -L 1 bash -c 'target "$@"' fuzz <<<"$targets"
