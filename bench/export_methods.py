"""Ratings in a database, and ways to write them as CSV; each run prints its figures as one JSON line.

    python -m bench.export_methods fill --rows 1000000
    python -m bench.export_methods emostudy

Runs in emostudy's own environment on the database that DATABASE_URL (else VAR_DIR) names; BENCH_OUT is the file.
"""

import argparse
import csv
import json
import os
import random
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from dialogue.models import Conversation  # noqa: E402
from studies.data.exports.columns import Filter, selected, sources_of  # noqa: E402
from studies.data.exports.files import write_rows  # noqa: E402
from studies.data.exports.tables import RATINGS, rated, ratings  # noqa: E402
from studies.models import Answer, ArmRun, Participation, Rater, Response, Study  # noqa: E402

HEADER = [column.name for column in RATINGS]
ITEMS, RESPONSES, RUNS_OF_A_PERSON = 14, 4, 10
AT_ONCE = 5_000


# Rows to write.


def fill(rows: int) -> int:
    call_command("migrate", verbosity=0, interactive=False)
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)
    study = Study.objects.get(key="demo")
    runs = make_runs(study, -(-rows // (ITEMS * RESPONSES)))
    with transaction.atomic():
        Response.objects.bulk_create(responses(study, runs), batch_size=AT_ONCE)
        wanted = islice(answers(), rows)
        while batch := list(islice(wanted, AT_ONCE)):
            Answer.objects.bulk_create(batch)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    return Answer.objects.count()


def make_runs(study: Study, count: int) -> list[ArmRun]:
    protocol = study.current()
    people = Participation.objects.bulk_create(
        [
            Participation(study=study, protocol=protocol, token_hash=f"{number:064}", status="completed")
            for number in range(-(-count // RUNS_OF_A_PERSON))
        ]
    )
    chats = Conversation.objects.bulk_create(
        [Conversation(status="closed", end_reason="finished") for _ in range(count)], batch_size=AT_ONCE
    )
    runs = [
        ArmRun(
            study=study,
            protocol=protocol,
            participation=people[number // RUNS_OF_A_PERSON],
            conversation=chat,
            position=1 + number % RUNS_OF_A_PERSON,
            arm=f"arm-{number % 5}",
        )
        for number, chat in enumerate(chats)
    ]
    return ArmRun.objects.bulk_create(runs, batch_size=AT_ONCE)


def responses(study: Study, runs: list[ArmRun]) -> Iterator[Response]:
    """Of each conversation: its seeker's, two reviewers', and a judge's."""
    whose = {run.participation_id: run.participation for run in runs}
    seekers = {
        pk: Rater(study=study, kind="seeker", code=person.code, participation=person) for pk, person in whose.items()
    }
    others = [Rater(study=study, kind="reviewer", code=f"R{number}") for number in (1, 2)]
    others.append(Rater(study=study, kind="judge", code="judge-a", strategy="standard"))
    Rater.objects.bulk_create([*seekers.values(), *others])
    for run in runs:
        for rater in (seekers[run.participation_id], *others):
            yield Response(
                rater=rater, run=run, instrument="ten", moment="final", is_rating=True, first_turn=1, last_turn=10
            )


def answers() -> Iterator[Answer]:
    """Of people with the time they took; of the judge one in three with a reason."""
    draw = random.Random(3)
    for response, kind in Response.objects.order_by("pk").values_list("pk", "rater__kind"):
        for item in range(ITEMS):
            answer = Answer(response_id=response, item=f"item_{item:02}", value=draw.randint(1, 5))
            if kind == "judge":
                answer.reason = "It answers what was said, in the last turn." if draw.random() < 0.3 else ""
            else:
                answer.seconds = round(draw.expovariate(1 / 6), 1)
            yield answer


# Ways to write them.


def by_emostudy(study: Study, path: Path) -> None:
    write_rows(path, HEADER, ratings(study, Filter()))


def by_copy(study: Study, path: Path) -> None:
    statement, parameters = selected(rated(study, Filter()), sources_of(RATINGS)).query.sql_with_params()
    command = f"COPY ({statement}) TO STDOUT WITH (FORMAT csv)"
    with path.open("wb") as file, connection.cursor() as cursor, cursor.copy(command, parameters) as copied:
        for block in copied:
            file.write(block)


def by_cursor(study: Study, path: Path) -> None:
    statement, parameters = selected(rated(study, Filter()), sources_of(RATINGS)).query.sql_with_params()
    cursor = BARE[connection.vendor]()
    cursor.execute(statement if connection.vendor == "postgresql" else statement.replace("%s", "?"), parameters)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        while rows := cursor.fetchmany(AT_ONCE):
            writer.writerows(rows)


BARE: dict[str, Callable[[], Any]] = {
    "postgresql": lambda: connection.connection.cursor("bench"),  # on the server's side
    "sqlite": lambda: sqlite3.connect(settings.DATABASES["default"]["NAME"]).cursor(),
}
WAYS: dict[str, Callable[[Study, Path], None]] = {"emostudy": by_emostudy, "copy": by_copy, "cursor": by_cursor}


def timed(way: str, path: Path) -> dict[str, Any]:
    study = Study.objects.get(key="demo")
    idle, wall, cpu = peak_mb(), time.perf_counter(), cpu_seconds()
    with transaction.atomic():
        WAYS[way](study, path)
        cpu = cpu_seconds() - cpu
    wall = time.perf_counter() - wall
    with path.open(newline="", encoding="utf-8") as file:
        rows = sum(1 for _row in csv.reader(file)) - (way != "copy")
    return {"rows": rows, "wall_s": wall, "cpu_s": cpu, "idle_mb": idle, "peak_mb": peak_mb()}


def cpu_seconds() -> float:
    """Of this process and of the one that serves it in PostgreSQL, where that is on this machine."""
    if connection.vendor != "postgresql":
        return time.process_time()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        server = Path(f"/proc/{cursor.fetchone()[0]}/stat")
    ticks = map(int, server.read_text().rpartition(") ")[2].split()[11:13])  # user and system
    return time.process_time() + sum(ticks) / os.sysconf("SC_CLK_TCK")


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("fill", *WAYS))
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    if options.what == "fill":
        print(json.dumps({"rows": fill(options.rows)}))
    else:
        print(json.dumps(timed(options.what, Path(os.environ["BENCH_OUT"]))))


if __name__ == "__main__":
    main()
