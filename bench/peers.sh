#!/bin/sh
# sh bench/peers.sh NAME …: put each of these peers into an environment of its own under var/bench, so that their pins do
# not meet. Once: a stamp remembers it.
set -eu
put() {
    place="var/bench/$1"; shift
    [ -e "$place/.installed" ] && return
    echo "Installing $* into $place …"
    rm -rf "$place"
    sh deploy/venv.sh "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    touch "$place/.installed"
}
for name in "$@"; do
    case "$name" in
        chainlit) put "$name" chainlit==2.12.0 openai==3.54.0 ;;
        gradio) put "$name" gradio==6.31.0 openai==3.54.0 ;;
        otree) put "$name" otree==6.0.15 openai==3.54.0 ;;
        inspect) put "$name" inspect_ai==0.3.285 openai==3.54.0 ;;
        *) echo "There is no peer $name: chainlit, gradio, otree or inspect." >&2; exit 2 ;;
    esac
done
