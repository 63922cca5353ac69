#!/bin/sh
# Back up the database and VAR_DIR into the folder $1, and delete backups there that are older than $2 days (14).
# It needs the server's variables. They are not in the backup: keep SECRET_KEY and CONTACT_KEY somewhere else.
set -eu
umask 077
folder=$1
days=${2:-14}
now=$(date -u +%Y%m%d-%H%M%S)
mkdir -p "$folder"
pg_dump --format=custom --file="$folder/emostudy-$now.dump.part" "$DATABASE_URL"
tar -czf "$folder/emostudy-$now.var.tar.gz.part" -C "$VAR_DIR" --exclude=./static .
mv "$folder/emostudy-$now.dump.part" "$folder/emostudy-$now.dump"
mv "$folder/emostudy-$now.var.tar.gz.part" "$folder/emostudy-$now.var.tar.gz"
find "$folder" -name "emostudy-*" -mtime "+$days" -delete
echo "$folder/emostudy-$now.dump"
