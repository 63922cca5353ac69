#!/bin/sh
# Back up the database and VAR_DIR into the folder $1, and delete backups there that are older than $2 days (14).
# It needs the server's variables. They are not in the backup: keep SECRET_KEY and CONTACT_KEY somewhere else.
set -eu
umask 077
folder=$1
days=${2:-14}
now=$(date -u +%Y%m%d-%H%M%S)
var=${VAR_DIR:-$(dirname "$0")/../var}
mkdir -p "$folder"
trap 'rm -f "$folder/emostudy-$now".*.part' EXIT # of a backup that failed, or the disk stays full
# The password goes by the environment: every account of the machine can read the arguments of a process.
part() {
    python3 -c "import os, urllib.parse as u; url = u.urlsplit(os.environ['DATABASE_URL']); print($1)"
}
case ${DATABASE_URL:-} in
"" | sqlite:*) # a copy of the file alone would lack what the log beside it holds, and could be half written
    kind=sqlite3
    file=$var/emostudy.sqlite3
    if [ -n "${DATABASE_URL:-}" ]; then file=$(part "u.unquote(url.path[1:])"); fi
    python3 -c "import sqlite3, sys
source, target = sqlite3.connect(f'file:{sys.argv[1]}?mode=rw', uri=True), sqlite3.connect(sys.argv[2])
source.backup(target)" "$file" "$folder/emostudy-$now.$kind.part"
    ;;
*)
    kind=dump
    PGPASSWORD=$(part "u.unquote(url.password or '')")
    export PGPASSWORD
    address=$(part "url._replace(netloc=url.netloc.replace(f':{url.password}@', '@')).geturl()")
    pg_dump --format=custom --file="$folder/emostudy-$now.$kind.part" "$address"
    ;;
esac
tar -czf "$folder/emostudy-$now.var.tar.gz.part" -C "$var" --exclude=./static --exclude="./emostudy.sqlite3*" .
mv "$folder/emostudy-$now.$kind.part" "$folder/emostudy-$now.$kind"
mv "$folder/emostudy-$now.var.tar.gz.part" "$folder/emostudy-$now.var.tar.gz"
find "$folder" -name "emostudy-*" -mtime "+$days" -delete
echo "$folder/emostudy-$now.$kind"
