#!/bin/sh
# Runs after the package was removed or upgraded.
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
