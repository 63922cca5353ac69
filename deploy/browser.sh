#!/bin/sh
# A Chromium and a Chinese font for the browser tests: Debian's, installed where we may. Each is looked for by itself,
# since a machine may have the one without the other. Without a Chromium those tests are skipped loudly.
set -eu
missing=""
if ! command -v chromium >/dev/null 2>&1 && ! command -v google-chrome >/dev/null 2>&1; then missing="chromium"; fi
if [ -z "$(fc-list :lang=zh-cn 2>/dev/null)" ]; then missing="$missing fontconfig fonts-noto-cjk"; fi
if [ -z "$missing" ]; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing for the browser tests: ${missing# } …"
    # shellcheck disable=SC2086 - the names of packages
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        $missing >/dev/null && exit 0
fi
case "$missing" in
chromium*) echo "*** No Chromium here: BROWSER TESTS WILL BE SKIPPED. Install the package 'chromium'. ***" ;;
esac
case "$missing" in
*fonts*) echo "*** No Chinese font here: Chinese pages are tested with boxes. Install 'fonts-noto-cjk'. ***" ;;
esac
