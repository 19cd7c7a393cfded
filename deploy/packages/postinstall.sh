#!/bin/sh
# Runs after the package was installed or upgraded. The service isn't enabled and not started, because it has no
# engine until /etc/trident/trident.env names one. A running service gets the new program. dpkg sets DPKG_ROOT if it
# installs into another folder than /.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
    systemd-sysusers --root="${DPKG_ROOT:-/}" trident.conf
fi
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart trident.service
fi
