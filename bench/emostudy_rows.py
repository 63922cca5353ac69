"""Emostudy's side of the database: people who stand before their chat, and afterwards what was stored.

    python -m bench.emostudy_rows make MOCK MODEL PEOPLE.json WARM.json --count 200 --warm 2
    python -m bench.emostudy_rows check TRANSCRIPT.jsonl REQUESTS

Runs in emostudy's own environment, beside the server, on the database that VAR_DIR names.
"""

import argparse
import json
import os
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import django
import tomlkit

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.sessions.backends.db import SessionStore  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import transaction  # noqa: E402

from dialogue.models import Call, Turn  # noqa: E402
from dialogue.models.conversation import TurnState  # noqa: E402
from studies.models import Consent, Participation, Study  # noqa: E402
from studies.models.participation import Status  # noqa: E402
from studies.participation import enrolment, progress  # noqa: E402
from studies.participation.consent import form_of  # noqa: E402

KEY = "bench"
PROVIDER = "Mock"


def design(mock: str, model: str, second_line: int = 0) -> dict[str, Any]:
    """The demonstration's consent form, one arm behind the mock, and chats that no rating interrupts. `second_line`:
    after so many milliseconds it answers; 0 for none."""
    study = tomllib.loads((settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8"))
    arm = {"key": "mock", "kind": "openai_compatible", "base_url": f"{mock}/v1", "model": model, "provider": PROVIDER}
    study["consent"]["providers"] = [PROVIDER]
    watch = {"kind": "openai_compatible", "base_url": f"{mock}/v1", "model": f"watch-f{second_line}"}
    if second_line:
        study["safety"] = {"second_line": watch | {"provider": PROVIDER}}
    return study | {
        "key": KEY,
        "title": "Benchmark",
        "steps": [{"kind": "consent"}, {"kind": "chats"}, {"kind": "debrief"}],
        "chat": {"min_turns": 1000, "max_turns": 1000, "final_instruments": ["emoharbor_10"], "topic": "keep"},
        "display": {},
        "arms": [arm | {"prompt": "supporter"}],
        "judges": [],
    }


def load_study(mock: str, model: str, second_line: int = 0) -> Study:
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        tomlkit.dump(design(mock, model, second_line), file)
        file.flush()
        call_command("load_study", file.name, verbosity=0)
    Study.objects.filter(key=KEY).update(stage="open")  # what opening asks for is no part of what is measured
    return Study.objects.get(key=KEY)


@transaction.atomic
def make_people(study: Study, count: int) -> list[str]:
    """The session keys of `count` new people, each of whom has agreed and is next in their first conversation."""
    return [session_of(person_before_chat(study)) for _ in range(count)]


def person_before_chat(study: Study) -> Participation:
    person, _token = enrolment.invite(study)
    enrolment.start(person)
    person.language = "en"
    person.save(update_fields=["language"])
    while (step := progress.current_step(person)).kind != "chat":
        progress.advance(person, done=step)
        if step.kind == "consent":
            sign(person)
    return person


def sign(person: Participation) -> None:
    text = form_of(person.design(), language="en", track=person.track)
    Consent.objects.create(
        participation=person,
        instrument=text.instrument,
        version=text.version,
        text_hash=text.hash(),
        language="en",
        boxes={key: True for key, _required, _text in text.boxes},
        providers=[PROVIDER],
    )
    progress.set_status(person, Status.ACTIVE)


def session_of(person: Participation) -> str:
    session = SessionStore()
    enrolment.bind_session(session, person)
    session["language"] = person.language
    session.create()
    return str(session.session_key)


def faults(transcript: list[dict[str, Any]], requests: int) -> dict[str, int]:
    """How often each kind of fault is in what was stored; all 0 where every turn is there once, as it was seen.

    `requests` is how many the mock got: each is one row of the ledger. The rows of the warm-up are not counted.
    """
    rows = Counter[str]()
    turns = {nonce_of(turn.text): turn for turn in Turn.objects.all()}
    rows["turns_repeated"] = Turn.objects.count() - len(turns)
    for seen in transcript:
        rows.update(turn_faults(seen, turns.get(seen["nonce"])))
    calls = Call.objects.all()
    warm = calls.filter(conversation__turns__text__contains="#n=warm").distinct().count()
    rows["calls_lost"] = abs(calls.count() - warm - requests)
    rows["calls_left_open"] = calls.filter(status="started").count()
    rows["turns_left_open"] = Turn.objects.filter(state=TurnState.WAITING).count()
    names = ("turns_lost", "turns_repeated", "turns_left_open", "texts_differ", "out_of_order", "untold_failures")
    return {name: rows[name] for name in (*names, "calls_lost", "calls_left_open", "calls_without_answer")}


WARM_TURNS = 2


def nonce_of(text: str) -> str:
    return text.partition("#n=")[2].rstrip("#")


def turn_faults(seen: dict[str, Any], turn: Turn | None) -> Counter[str]:
    if turn is None:
        return Counter(turns_lost=1)
    ok = Call.objects.filter(
        conversation=turn.conversation_id, turn=turn.number, status="ok", purpose=Call.Purpose.REPLY
    ).count()
    answered = turn.state == TurnState.ANSWERED
    return Counter(
        texts_differ=int(not seen["error"] and turn.reply != seen["text"]),
        out_of_order=int(turn.number != seen["number"] + 1),
        untold_failures=int(answered == bool(seen["error"])),
        calls_without_answer=int(answered and ok != 1),
    )


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    make = actions.add_parser("make", help="load the study and make people")
    make.add_argument("mock", help="the mock's address")
    make.add_argument("model")
    make.add_argument("people", type=Path, help="gets their session keys as a JSON list")
    make.add_argument("warm_people", type=Path, help="the same for those of the warm-up")
    make.add_argument("--count", type=int, default=50)
    make.add_argument("--warm", type=int, default=WARM_TURNS)
    make.add_argument("--second-line", type=int, default=0, help="milliseconds; 0 for none")
    check = actions.add_parser("check", help="compare what is stored with what was seen")
    check.add_argument("transcript", type=Path)
    check.add_argument("requests", type=int, help="how many the mock got")
    return parser.parse_args()


def main() -> None:
    options = parsed()
    if options.action == "make":
        study = load_study(options.mock, options.model, options.second_line)
        options.people.write_text(json.dumps(make_people(study, options.count)))
        options.warm_people.write_text(json.dumps(make_people(study, options.warm)))
    else:
        transcript = [json.loads(line) for line in options.transcript.read_text().splitlines()]
        print(json.dumps(faults(transcript, options.requests)))


if __name__ == "__main__":
    main()
