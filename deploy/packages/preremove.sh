#!/bin/sh
# Before a removal, not before an upgrade: dpkg says remove, rpm how many versions remain.
set -e
if [ "$1" = remove ] || [ "$1" = 0 ]; then
    if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
        systemctl disable --now tsdbridge.socket tsdbridge.service
    fi
fi
