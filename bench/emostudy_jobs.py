"""Emostudy's own jobs, measured from inside: judging, or simulating. Prints its figures as one JSON line.

    python -m bench.emostudy_jobs judge --url http://127.0.0.1:9100 --calls 500 --at-once 64 --model scores-f200
    python -m bench.emostudy_jobs simulate --url … --dialogues 200 --turns 15 --at-once 100 --model cast-n28-f500-g0

Runs in emostudy's own environment on the database that DATABASE_URL (else VAR_DIR) names, which must be new. The
ledger, the verdicts, the turns and the thoughts are stored; `good` counts them.
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
django.setup()

from channels.db import database_sync_to_async  # noqa: E402
from django.conf import settings  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db.models import Max, Min  # noqa: E402

from dialogue.jobs import store  # noqa: E402
from dialogue.jobs.runner import Runner  # noqa: E402
from dialogue.models import Call, Job, JobItem, Turn  # noqa: E402
from studies.design.spec import ArmSpec  # noqa: E402
from studies.judging.planning import get_or_create_rater, get_work, plan_judging  # noqa: E402
from studies.judging.settings import Configuration  # noqa: E402
from studies.models import Answer, Study  # noqa: E402
from studies.seeker_profiles.selection import find_profiles, keep  # noqa: E402
from studies.simulation.planning import plan_simulation  # noqa: E402
from studies.simulation.setup import Setup  # noqa: E402

WARM = 50
TURNS = 10
SEEKER = "I keep thinking about what my manager said in front of everyone, and I cannot let it go at night. "
SUPPORTER = "It sounds as if being corrected in front of the others hurt more than the mistake itself did. "


def model_at(url: str, model: str, key: str) -> ArmSpec:
    return ArmSpec(
        key=key, title={"en": key}, kind="openai_compatible", base_url=f"{url}/v1", model=model, provider="Mock"
    )


def study() -> Study:
    call_command("migrate", verbosity=0, interactive=False)
    call_command("load_study", str(settings.FIXTURES / "studies" / "demo.toml"), verbosity=0)
    return Study.objects.get(key="demo")


def import_conversations(count: int) -> None:
    """Each with words of its own, so that no answer serves two. By a process of its own, whose memory is not ours."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "conversations.jsonl"
        with file.open("w", encoding="utf-8") as out:
            for number in range(count):
                turns = [{"seeker": f"{SEEKER}({number}.{turn})", "supporter": SUPPORTER * 2} for turn in range(TURNS)]
                out.write(json.dumps({"id": f"c{number}", "arm": "bench", "language": "en", "turns": turns}) + "\n")
        subprocess.run([sys.executable, "manage.py", "import_conversations", "demo", str(file), "-v0"], check=True)


async def timed(runner: Runner, job: Job) -> dict[str, Any]:
    """From its first call to its last result, by the rows; the CPU time is that of the whole process meanwhile."""
    before = time.process_time()
    while await database_sync_to_async(store.is_something_left)(job.pk):  # noqa: ASYNC110 - the rows tell
        await asyncio.sleep(0.5)
    cpu = time.process_time() - before
    began = await database_sync_to_async(Call.objects.filter(item__job=job).aggregate)(first=Min("created_at"))
    ended = await database_sync_to_async(JobItem.objects.filter(job=job).aggregate)(last=Max("done_at"))
    return {"wall_s": round((ended["last"] - began["first"]).total_seconds(), 3), "cpu_s": round(cpu, 3)}


async def judged(options: argparse.Namespace) -> dict[str, Any]:
    here = await database_sync_to_async(study)()
    await database_sync_to_async(import_conversations)(WARM + options.calls)
    configuration = Configuration(model_at(options.url, options.model, "bench"), "standard")
    rater = await database_sync_to_async(get_or_create_rater)(here, configuration)
    work = await database_sync_to_async(get_work)(rater, configuration.judge, moments=["final"], replicates=1)
    runner = Runner(at_once=options.at_once)
    running = asyncio.create_task(runner.run(until_done=False))
    plan = database_sync_to_async(plan_judging)
    await timed(runner, (await plan(here, configuration, work.judgements[:WARM])).job)
    figures = await timed(runner, (await plan(here, configuration, work.judgements[WARM:])).job)
    runner.stopping.set()
    await running
    good = await database_sync_to_async(Answer.objects.filter(value=4).count)()
    return figures | {"good": good // 10 - WARM}


async def simulated(options: argparse.Namespace) -> dict[str, Any]:
    here = await database_sync_to_async(study)()
    protocol = await database_sync_to_async(here.current)()
    setup = Setup(model_at(options.url, options.model, "seeker"), "average", one_agent=False, max_turns=options.turns)
    found = await database_sync_to_async(find_profiles)(here, None)
    profiles = found.profiles[:10]
    await database_sync_to_async(keep)(here, profiles, origin=found.origin)
    arms = await database_sync_to_async(mock_arms)(protocol, options)
    replicates = options.dialogues // (len(profiles) * len(arms))
    runner = Runner(at_once=options.at_once)
    running = asyncio.create_task(runner.run(until_done=False))
    plan = database_sync_to_async(plan_simulation)
    planned = await plan(protocol, setup, arms, profiles, replicates=replicates)
    figures = await timed(runner, planned.job)
    runner.stopping.set()
    await running
    # The same words to the same model are asked once: the ledger tells how many calls there were.
    figures |= {"dialogues": planned.items, "calls": await database_sync_to_async(Call.objects.count)()}
    return figures | {"good": await database_sync_to_async(Turn.objects.filter(state="answered").count)()}


def mock_arms(protocol: Any, options: argparse.Namespace) -> list[ArmSpec]:
    """The demonstration's arms, with the mock behind them. Each has a temperature of its own, else all would be one
    model, which is asked once for all."""
    protocol.arms.update(kind="openai_compatible", base_url=f"{options.url}/v1", model=options.model, provider="Mock")
    for number, arm in enumerate(protocol.arms.all()):
        protocol.arms.filter(pk=arm.pk).update(temperature=number / 10)
    return [ArmSpec(**arm.as_json()) for arm in protocol.arms.all()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("judge", "simulate"))
    parser.add_argument("--url", required=True)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--dialogues", type=int, default=200)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--model", default="scores-f200")
    options = parser.parse_args()
    figures = asyncio.run(judged(options) if options.what == "judge" else simulated(options))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    json.dump({**figures, "peak_mb": round(peak, 1)}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
