#!/bin/sh
# After an installation or an upgrade, of deb and rpm. A new service is not started before somebody has looked at
# its configuration; one that runs is restarted with the new binary.
set -e
systemd-sysusers ${DPKG_ROOT:+--root="$DPKG_ROOT"} tsdbridge.conf
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart tsdbridge.service
fi
