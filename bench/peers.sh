#!/bin/sh
# Put each peer into an environment of its own under var/bench, so that their pins do not meet. Once: a stamp remembers it.
set -eu
peer() {
    name="$1"; shift
    place="var/bench/$name"
    [ -e "$place/.installed" ] && return
    echo "Installing $* into $place …"
    rm -rf "$place"
    sh deploy/venv.sh "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    touch "$place/.installed"
}
peer chainlit chainlit==2.12.0 openai==3.54.0
peer gradio gradio==6.31.0 openai==3.54.0
peer otree otree==6.0.15 openai==3.54.0
peer inspect inspect_ai==0.3.285 openai==3.54.0
