# shellcheck shell=bash
#
# The cache that all clones of a user share. The scripts that install something source this file. TRIDENT_CACHE is the
# folder.
#
#   venv/NAME-HASH   virtual environments; NAME in a clone is a link to one of them
#   node/HASH        packages of npm; node_modules in a clone has hard links to their files
#   bin/NAME-HASH    programs
#   pip, npm, apt    downloads of these programs
#
# HASH covers everything that an entry depends on. Nothing in an entry may depend on the path of the clone.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${TRIDENT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/trident}
# Days without use after which an entry or a download is removed.
cache_days=60

say() { printf '%s: %s\n' "$(basename "$0" .sh)" "$*" >&2; }
die() { say "$@"; exit 1; }

# The tag identifies the folder as a cache: files in it may be removed, and backups skip it (bford.info/cachedir).
mkdir -p "$cache" || die "can't make the cache folder $cache: set TRIDENT_CACHE to another one"
cache=$(cd "$cache" && pwd -P)
[ -z "$(ls -A "$cache")" ] || [ -e "$cache/CACHEDIR.TAG" ] || die "the cache folder $cache has other files in it: set TRIDENT_CACHE to an empty one"
echo "Signature: 8a477f597d28d172789f06886806bc55" >"$cache/CACHEDIR.TAG"
mkdir -p "$cache"/{venv,node,bin,pip,npm,apt}

# lock_cache waits until no other setup is running. The lock is on the folder itself. It is held until this script and its
# children have ended, or until unlock_cache.
lock_cache() {
    exec 8<"$cache"
    flock -n 8 || { say "waiting for another setup, which holds the lock of $cache" && flock 8; }
}

unlock_cache() { exec 8<&-; }

# sweep_cache removes entries and downloads that were not used for cache_days days. The modification time of an entry is
# the time of its last use. The lock must be held.
sweep_cache() {
    find "$cache"/{venv,node,bin} -mindepth 1 -maxdepth 1 -mtime +"$cache_days" -exec rm -rf {} +
    find "$cache"/{pip,npm,apt} -type f -atime +"$cache_days" -delete
}

# clean_cache removes all entries and downloads. The lock must be held.
clean_cache() { rm -rf "${cache:?}"/{venv,node,bin,pip,npm,apt}; }

# megabytes FOLDER prints the size of the folder on disk.
megabytes() { du -sm "$1" | cut -f1; }

# environment LINK SIZE PYTHON REQUIREMENTS FINISH [FACT...] makes LINK, in the clone, a link to a virtual environment
# of PYTHON with the packages of REQUIREMENTS. FINISH DIR installs the rest. SIZE is the size of all downloads. The hash
# covers the requirements, the Python, the facts, and the code of this file and of the calling script. The lock must be
# held.
environment() {
    local link=$1 size=$2 python requirements=$repo/$4 finish=$5 hash dir
    python=$("$3" -c 'import sys; print(sys._base_executable)')
    hash=$({ grep -hv '^ *#' "$0" "$repo/tools/cache.sh" && cat "$requirements" && "$python" -VV && printf '%s\n' "$python" "${@:6}"; } | sha256sum | cut -c1-16)
    dir=$cache/venv/${link#.}-$hash
    # The stamp is written last, so an environment with a stamp is complete. It contains the folder's path, because an
    # environment can't be moved.
    if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$dir" ]; then
        make_environment "$link" "$dir" "$size" "$python" "$requirements" "$finish"
    elif [ "$repo/$link" -ef "$dir" ]; then
        say "$link: up to date"
    else
        say "$link: from the cache"
    fi
    touch "$dir"
    [ "$(readlink "$repo/$link")" = "$dir" ] && return
    [ -L "$repo/$link" ] || rm -rf "${repo:?}/$link"
    ln -sfn "$dir" "$repo/$link"
}

make_environment() {
    local name=$1 dir=$2 size=$3 python=$4 requirements=$5 finish=$6 log=$2/setup.log start=$SECONDS before
    local -x TMPDIR=$dir/.tmp
    before=$(megabytes "$cache/pip")
    rm -rf "$dir"
    mkdir -p "$TMPDIR"
    say "$name [1/4] virtual environment of $python ($("$python" -V))"
    "$python" -m venv "$dir" >"$log" 2>&1 || die "python -m venv failed: $(tail -n1 "$log") (all of it in $log)"
    say "$name [2/4] download, $size"
    download "$dir" -r "$requirements"
    say "$name [3/4] install"
    pip "$dir" --quiet install --no-deps --no-index --find-links "$cache/pip" -r "$requirements" 2>/dev/null ||
        die "installing into $dir failed: $(last_error "$log") (all of pip's output in $log)"
    say "$name [4/4] finish"
    "$finish" "$dir"
    rm -rf "$TMPDIR" "$cache/pip/http"
    echo "$dir" >"$dir/.stamp"
    say "$name: installed in $((SECONDS - start)) s, $(megabytes "$dir") MB;" \
        "downloaded $(logged Downloading "$log") packages, $(($(megabytes "$cache/pip") - before)) MB, and took $(logged 'File was already downloaded|Using cached' "$log") from the cache"
}

# logged PATTERN LOG prints the number of matching lines of pip's log.
logged() { grep -cE "^[^ ]+ +($1) [^ ]+\.whl" "$2" || true; }

pip() { "$1/bin/python" -m pip --disable-pip-version-check --cache-dir "$cache/pip/http" --log "$1/setup.log" "${@:2}"; }

# download DIR OPTION... downloads packages into the cache with DIR's pip. pip uses an existing file if its hash
# matches. Downloads of an interrupted run stay in pip/http, if the server allows that.
download() {
    show_downloads pip "$1" download --no-deps --only-binary=:all: --dest "$cache/pip" "${@:2}" ||
        die "$(failed_download "$1/setup.log"): check the network, the proxy (HTTPS_PROXY), the mirror (PIP_INDEX_URL) and the disk, then run this again (all of pip's output in $1/setup.log)"
}

# On a terminal pip shows its own progress bars. Otherwise show_downloads prints one line for each downloaded package.
show_downloads() {
    if [ -t 1 ]; then
        "$@"
    else
        PYTHONUNBUFFERED=1 "$@" 2>/dev/null | sed -unE 's/^ *(Downloading|Using cached) /    /p' >&2
    fi
}

last_error() { sed -n 's/^[^ ]* *ERROR: //p' "$1" | tail -n1 | cut -c1-200; }

failed_download() {
    local package cause
    package=$(sed -nE 's/^[^ ]* .*(Collecting|No matching distribution found for) ([^ ]*).*/\2/p' "$1" | tail -n1)
    cause=$(sed -nE "s/.*connection broken by '[A-Za-z]*\((.*)\)': .*/\1/p" "$1" | tail -n1)
    echo "${package:-a package} could not be downloaded (${cause:-$(last_error "$1")})"
}
