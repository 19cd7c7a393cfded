#!/bin/sh
# Runs before the package is removed or upgraded. Its argument is "remove" or "upgrade" with dpkg, and the number of
# versions that remain with rpm. An upgrade doesn't stop the service.
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ] && { [ "$1" = remove ] || [ "$1" = 0 ]; }; then
    systemctl disable --now trident.service
fi
