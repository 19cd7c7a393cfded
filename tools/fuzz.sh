#!/usr/bin/env bash
# Runs each Go fuzz target for a number of seconds: tools/fuzz.sh SECONDS. Four targets run in parallel. A failing input
# is stored in testdata/fuzz of the target's package and should be committed with the fix.
#
# The script interrupts a target, as ^C does, when its time is over. With -fuzztime, Go 1.26 sometimes fails at the end
# with "context deadline exceeded" and no input (golang/go#75804, fixed in 1.27).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export seconds=$1 binaries="$PWD/.cache/fuzz" inputs
inputs=$(go env GOCACHE)/fuzz/trident
mkdir -p "$binaries"

# binary PACKAGE prints the path of the package's instrumented test binary.
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
