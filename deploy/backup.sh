#!/bin/sh
# Back up the database and VAR_DIR into the folder $1, and delete backups there that are older than $2 days (14).
# It needs the server's variables. They are not in the backup: keep SECRET_KEY and CONTACT_KEY somewhere else.
set -eu
umask 077
folder=$1
days=${2:-14}
now=$(date -u +%Y%m%d-%H%M%S)
mkdir -p "$folder"
# The password goes by the environment: every account of the machine can read the arguments of a process.
part() {
    python3 -c "import os, urllib.parse as u; url = u.urlsplit(os.environ['DATABASE_URL']); print($1)"
}
PGPASSWORD=$(part "u.unquote(url.password or '')")
export PGPASSWORD
address=$(part "url._replace(netloc=url.netloc.replace(f':{url.password}@', '@')).geturl()")
pg_dump --format=custom --file="$folder/emostudy-$now.dump.part" "$address"
tar -czf "$folder/emostudy-$now.var.tar.gz.part" -C "$VAR_DIR" --exclude=./static .
mv "$folder/emostudy-$now.dump.part" "$folder/emostudy-$now.dump"
mv "$folder/emostudy-$now.var.tar.gz.part" "$folder/emostudy-$now.var.tar.gz"
find "$folder" -name "emostudy-*" -mtime "+$days" -delete
echo "$folder/emostudy-$now.dump"
