#!/bin/sh
# Installs Chromium, for the tests of pages and charts, unless one is on PATH or named by BENCHBATCH_CHROMIUM. Debian and its kin.
# Usage: scripts/install-chromium.sh
set -eu

for name in ${BENCHBATCH_CHROMIUM:+"$BENCHBATCH_CHROMIUM"} chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null; then
        exit 0
    fi
done
if ! command -v apt-get >/dev/null; then
    echo "no Chromium on PATH, and no apt-get: install one by hand, or name it with BENCHBATCH_CHROMIUM=/path/to/chromium" >&2
    exit 1
fi

echo "installing Chromium (about a minute)" >&2
as_root=
if [ "$(id -u)" != 0 ]; then
    as_root=sudo
fi
$as_root apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends chromium
