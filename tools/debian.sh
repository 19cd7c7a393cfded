# shellcheck shell=bash
#
# Debian's packages, for the scripts that take one program from them. A script sources cache.sh before this file, and
# defines skip REASON, which says that the program is missing and ends the script without an error. Packages are
# unpacked, not installed, so no service starts.

: "${cache:?is set by cache.sh, which must be sourced first}"

# debian_package PROGRAM PACKAGE ends the script if PROGRAM is installed, and skips it if packages can't be installed.
debian_package() {
    local path
    ! path=$(command -v "$1") || { say "$1: $path"; exit 0; }
    command -v apt-get >/dev/null || skip "install $2"
    [ "$(id -u)" = 0 ] || skip "apt-get install $2"
}

# debian_entry PROGRAM prints the path of PROGRAM in the cache, which holds for one version of the system.
debian_entry() { echo "$cache/bin/$1-$(sha256sum </etc/os-release | cut -c1-16)"; }

# unpack_packages PROGRAM PACKAGE... downloads the packages and unpacks them into the current folder, which must be empty.
unpack_packages() {
    local program=$1 package
    shift
    say "$program [1/1] apt-get download $*"
    chmod 777 . # for the user _apt
    { apt-get download "$@" || { apt-get update && apt-get download "$@"; }; } >log 2>&1 ||
        skip "apt-get can't download it ($(grep '^E:' log | tail -n1))"
    say "$program: downloaded $(megabytes .) MB"
    for package in *.deb; do dpkg -x "$package" .; done
}
