#!/bin/sh
# A Chromium for the browser tests: Debian's, installed where we may. Without one, those tests are skipped loudly.
set -eu
if command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing Chromium for the browser tests …"
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium fonts-noto-cjk >/dev/null && exit 0
fi
echo "*** No Chromium here: BROWSER TESTS WILL BE SKIPPED. Install the package 'chromium'. ***"
