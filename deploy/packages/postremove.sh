#!/bin/sh
# After a removal. The store in /var/lib/tsdbridge stays, also after a purge: it may be the only copy.
set -e
if [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
