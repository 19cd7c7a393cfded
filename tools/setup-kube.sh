#!/usr/bin/env bash
# Builds kube-apiserver and etcd for make test-kube, from the Go modules that tools/kube/go.mod pins, and makes .cache/kube
# a link to them. Beside them are the custom resource definitions in the modules of tools/kube/crds/go.mod. A repeated
# run ends at once. GOFLAGS=-p=1 builds with less memory.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

cd "$repo"

# module_version FOLDER MODULE prints the version that the folder's go.mod pins.
module_version() { go -C "$1" list -m -f '{{.Version}}' "$2"; }

# build NAME PACKAGE LDFLAGS builds a program into the new entry.
build() {
    go -C tools/kube build -trimpath -ldflags "-s -w $3" -o "$new/$1" "$2" || die "$1 doesn't compile"
}

# crds MODULE FOLDER FILE... copies definitions of a module into the new entry.
crds() {
    local dir file
    dir=$(go -C tools/kube/crds list -m -f '{{.Dir}}' "$1")
    for file in "${@:3}"; do
        cp "$dir/$2/$file" "$new/crds/"
    done
    chmod -R u+w "$new/crds"
}

# make_entry writes the new entry. The build has a cache of its own, which is removed: it takes 2 GB, and nothing reads it
# again.
make_entry() {
    local start=$SECONDS kubernetes flags server
    export GOCACHE=$new/.gocache CGO_ENABLED=0
    kubernetes=$(module_version tools/kube k8s.io/kubernetes)
    mkdir "$new/crds"
    say "kube [1/3] download the modules, 400 MB if Go doesn't have them yet"
    go -C tools/kube mod download k8s.io/kubernetes
    go -C tools/kube/crds mod download github.com/prometheus-operator/prometheus-operator sigs.k8s.io/gateway-api
    crds sigs.k8s.io/gateway-api config/crd/standard gateway.networking.k8s.io_{gatewayclasses,gateways,httproutes}.yaml
    crds github.com/prometheus-operator/prometheus-operator example/prometheus-operator-crd monitoring.coreos.com_{servicemonitors,podmonitors}.yaml
    say "kube [2/3] build etcd"
    build etcd go.etcd.io/etcd/server/v3 ''
    say "kube [3/3] build kube-apiserver $kubernetes, which takes 8 minutes on two cores"
    # Kubernetes' build sets its version this way. Helm and the API read it.
    flags="-X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/component-base/version.gitTreeState=clean"
    flags+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<<"$kubernetes")"
    build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver "$flags"
    {
        printf 'kubernetes %s\n' "$kubernetes"
        printf 'etcd %s\n' "$(module_version tools/kube go.etcd.io/etcd/server/v3)"
        printf 'gateway-api %s\n' "$(module_version tools/kube/crds sigs.k8s.io/gateway-api)"
        printf 'prometheus-operator %s\n' "$(module_version tools/kube/crds github.com/prometheus-operator/prometheus-operator)"
    } >"$new/versions"
    say "kube: built in $((SECONDS - start)) s with $(megabytes "$GOCACHE") MB of build cache"
    rm -rf "$GOCACHE"
    for server in etcd kube-apiserver; do
        "$new/$server" --version >/dev/null || die "$server doesn't start"
    done
    say "kube: $(megabytes "$new") MB in the cache"
}

hash=$({ grep -hv '^ *#' "$0" && cat tools/kube/go.{mod,sum} tools/kube/crds/go.{mod,sum} && go env GOVERSION GOOS GOARCH; } | sha256sum | cut -c1-16)
entry=$cache/bin/kube-$hash
lock_cache
if [ -d "$entry" ]; then
    say "kube: taken from the cache"
else
    new=$(mktemp -d "$cache/bin/new-XXXXXX")
    trap 'chmod -R u+w "$new" && rm -rf "$new"' EXIT
    make_entry
    mv "$new" "$entry"
    trap - EXIT
fi
touch "$entry"
mkdir -p .cache
ln -sfn "$entry" .cache/kube
