"""The studies that the people walk: one for each model, so that a schedule has the model that it names."""

import json
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import tomlkit

from tests.faults.schedule import CHECKPOINT, MIN_TURNS, Schedule
from tests.server import ROOT, Server

TIMEOUTS = {"gap_timeout": 1.5, "total_timeout": 10.0}  # seconds: of silence, and of a whole answer
PACED = {"first_piece_seconds": 0.4, "characters_per_second": 200.0, "self_naming": "mask"}
COME_IN = """
import json, pathlib
from django.core.management import call_command
from studies.participation.enrolment import invite
from studies.models import Study
from tests.factories import acknowledged_drill
people, studies = {}, json.loads(pathlib.Path(__FILE__).read_text())
for key, study in studies.items():
    call_command("load_study", study["file"], verbosity=0)
    Study.objects.update(stage="open")
    acknowledged_drill(Study.objects.get(key=key))  # before real people may come
    for seed in study["seeds"]:
        # For test people replies are shown as they come.
        person, token = invite(Study.objects.get(key=key), is_test=not study["paced"])
        people[seed] = [person.code, f"/j/{token}/"]
print(json.dumps(people))
"""


class Invited(NamedTuple):
    code: str
    link: str


def people_for(server: Server, schedules: Sequence[Schedule], folder: Path, llm_url: str) -> dict[int, Invited]:
    """A person for each schedule, in a study that has its model and its pace."""
    studies: dict[str, dict[str, object]] = {}
    for number, (model, paced) in enumerate(sorted({(schedule.model, schedule.paced) for schedule in schedules})):
        key = f"faults-{number}"
        file = study_file(folder, key, model, llm_url, paced=paced)
        seeds = [schedule.seed for schedule in schedules if (schedule.model, schedule.paced) == (model, paced)]
        studies[key] = {"file": file, "paced": paced, "seeds": seeds}
    path = folder / "studies.json"
    path.write_text(json.dumps(studies))
    told = server.manage("shell", "-c", COME_IN.replace("__FILE__", repr(str(path))))
    if told.returncode:
        raise RuntimeError(told.stderr)
    return {int(seed): Invited(*person) for seed, person in json.loads(told.stdout.splitlines()[-1]).items()}


def study_file(folder: Path, key: str, model: str, llm_url: str, *, paced: bool) -> str:
    """The demo's texts; consent, one short conversation with one checkpoint, the final rating."""
    study = tomllib.loads((ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8"))
    study |= {"key": key, "languages": ["en"], "steps": steps("consent", "chats", "debrief"), "judges": []}
    study["consent"]["providers"] = ["Test Lab"]
    study["display"] = PACED if paced else {}
    study["chat"] = {
        "min_turns": MIN_TURNS,
        "max_turns": 8,
        "checkpoints": [CHECKPOINT],
        "checkpoint_instrument": "turn_checkpoint",
        "final_instruments": ["emoharbor_10"],
    }
    study["arms"] = [
        {
            "key": "only",
            "title": "The only one",
            "kind": "openai_compatible",
            "base_url": llm_url,
            "model": model,
            "provider": "Test Lab",
            "prompt": "supporter",
            "extra": TIMEOUTS,
        }
    ]
    path = folder / f"{key}.toml"
    path.write_text(tomlkit.dumps(study), encoding="utf-8")
    return str(path)


def steps(*kinds: str) -> Iterable[dict[str, str]]:
    return [{"kind": kind} for kind in kinds]
