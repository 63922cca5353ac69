#!/bin/sh
# Make the virtual environment $1 with a Python 3.11, whatever it is called here.
set -eu
for python in "${PY:-python3.11}" python3 python; do
    if command -v "$python" >/dev/null 2>&1 &&
        "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
        exec "$python" -m venv "$1"
    fi
done
echo "emostudy needs Python 3.11 and found none. Install it, or say where it is: make PY=/path/to/python3.11 run" >&2
exit 1
