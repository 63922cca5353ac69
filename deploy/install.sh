#!/bin/sh
# Install the requirements file $2 into the virtual environment $1, in the exact versions of constraints.txt.
# uv is several times faster than pip; where it cannot be had, pip does the same.
set -eu
bin="$1/bin"
echo "Installing what $2 names (once; about half a minute) …"
if "$bin/python" -m pip install --quiet --disable-pip-version-check "uv>=0.13,<0.14" 2>/dev/null &&
    "$bin/uv" pip install --quiet --compile-bytecode --python "$bin/python" -r "$2" -c constraints.txt 2>/dev/null; then
    exit 0
fi
exec "$bin/python" -m pip install --quiet --disable-pip-version-check -r "$2" -c constraints.txt
