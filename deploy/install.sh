#!/bin/sh
# Install the requirements file $2 into the virtual environment $1, in the exact versions of constraints.txt. A file that
# has another hash than there is refused, so nothing can be slipped in after a version was tested.
# uv is several times faster than pip. Where it cannot be had, pip installs all that constraints.txt names, since it
# checks hashes only where every version is exact.
set -eu
bin="$1/bin"
install_checked() {
    "$bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$1"
}
echo "Installing what $2 names (once; about half a minute) …"
if install_checked deploy/uv.txt 2>/dev/null &&
    "$bin/uv" pip install --system-certs --quiet --compile-bytecode --python "$bin/python" -r "$2" -c constraints.txt 2>/dev/null; then
    exit 0
fi
install_checked constraints.txt
