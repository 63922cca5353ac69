#!/bin/sh
# The whole suite on SQLite and the in-process channel layer; then its database and socket tests once more on
# PostgreSQL and Redis, where they are named or answer on their standard ports. Says loudly what was left out.
set -eu
bin=.venv/bin
answers() { "$bin/python" - "$1" "$2" <<'PY'
import sys
kind, url = sys.argv[1:]
if kind == "postgres":
    import psycopg
    psycopg.connect(url, connect_timeout=3).close()
else:
    import redis
    redis.from_url(url, socket_connect_timeout=3).ping()
PY
}
postgres="${TEST_DATABASE_URL:-postgresql://postgres@127.0.0.1:5432/postgres}"
redis="${TEST_REDIS_URL:-redis://127.0.0.1:6379/0}"
unset DATABASE_URL REDIS_URL CELERY_BROKER_URL SECRET_KEY DEBUG || true
VAR_DIR="$(mktemp -d "${TMPDIR:-/tmp}/emostudy-test.XXXXXX")"
# Mixed models of small matrices take a hundred times as long where many threads share them.
OPENBLAS_NUM_THREADS=1
export VAR_DIR OPENBLAS_NUM_THREADS
clean_up() {
    rm -rf "$VAR_DIR"
    [ -z "${REDIS_PREFIX:-}" ] || "$bin/python" - <<'PY'
import os
import redis
server = redis.from_url(os.environ["REDIS_URL"])
for key in server.scan_iter(os.environ["REDIS_PREFIX"] + "*"):
    server.delete(key)
PY
}
trap clean_up EXIT

"$bin/pytest" "$@"
if ! answers postgres "$postgres" 2>/dev/null; then
    [ -z "${TEST_DATABASE_URL:-}" ] || { echo "TEST_DATABASE_URL does not answer." >&2; exit 1; }
    echo "*** SKIPPED: no PostgreSQL answered on its standard port, so the database tests ran on SQLite alone. ***"
    exit 0
fi
if answers redis "$redis" 2>/dev/null; then
    REDIS_URL="$redis"
    REDIS_PREFIX="test_emostudy_$$_$(date +%s)"
    export REDIS_URL REDIS_PREFIX
else
    [ -z "${TEST_REDIS_URL:-}" ] || { echo "TEST_REDIS_URL does not answer." >&2; exit 1; }
    echo "*** SKIPPED: no Redis answered on its standard port, so sockets ran on the in-process layer alone. ***"
fi
echo "Once more on PostgreSQL${REDIS_URL:+ and Redis}: the tests that use a database."
DATABASE_URL="$postgres" "$bin/pytest" -m "django_db and not browser" "$@"
