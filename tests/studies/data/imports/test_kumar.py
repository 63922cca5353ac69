"""Published ratings of others go in, come out again, and give the correlations that they have in their own file.

Kumar et al., replication data of "When LLMs are reliable for judging empathic communication" (MIT): 50 conversations,
three experts, a crowd's mean and three judges on six dimensions. The data are not part of this project.
"""

import csv
import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from studies.analysis import analyse
from tests import factories

DATA = settings.BASE_DIR.parent / "shared" / "data" / "kumar_empathy"
KINDS = {"expert1": "expert", "expert2": "expert", "expert3": "expert", "crowd": "crowd"}

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not DATA.is_dir(), reason="the Kumar et al. ratings (../shared/data) are not here"),
]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_conversations(path: Path) -> int:
    """One line each; returns how many messages there are."""
    transcripts = json.loads((DATA / "lend_an_ear_conversations.json").read_text(encoding="utf-8"))
    roles = {"Seeker": "user", "Supporter": "assistant"}
    lines, count = [], 0
    for id, transcript in transcripts.items():
        parts = re.split(r"^(Seeker|Supporter): ?", transcript, flags=re.MULTILINE)[1:]
        messages = [{"role": roles[role], "content": said} for role, said in zip(parts[::2], parts[1::2], strict=True)]
        lines.append(json.dumps({"id": id, "messages": messages}))
        count += len(messages)
    path.write_text("\n".join(lines), encoding="utf-8")
    return count


def write_ratings(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["conversation", "rater", "rater_kind", "instrument", "item", "score"])
        for row in read(DATA / "lend_an_ear_ratings_long.csv"):
            kind = KINDS.get(row["annotator"], "judge")
            writer.writerow(
                [row["conversation"], row["annotator"], kind, "lend_an_ear", row["dimension"], row["score"]]
            )


def raw_correlations() -> dict[tuple[str, str, str], float]:
    """By judge, human (a kind's mean, or one expert) and dimension (`*`: their mean), by pandas from the raw file."""
    import pandas as pd

    long = pd.read_csv(DATA / "lend_an_ear_ratings_long.csv")
    means = long.groupby(["conversation", "annotator"], as_index=False)["score"].mean().assign(dimension="*")
    found = {}
    for item, rows in pd.concat([long, means]).groupby("dimension"):
        wide = rows.pivot(index="conversation", columns="annotator", values="score")
        experts = ["expert1", "expert2", "expert3"]
        humans = {f"expert:{expert}": wide[expert] for expert in experts}
        humans |= {"expert": wide[experts].mean(axis=1), "crowd": wide["crowd"]}
        for judge in ("gpt", "claude", "gemini"):
            found |= {(judge, human, str(item)): float(scores.corr(wide[judge])) for human, scores in humans.items()}
    return found


def command(*arguments: str) -> dict[str, Any]:
    stdout = StringIO()
    call_command(*arguments, "--json", verbosity=0, stdout=stdout)
    return json.loads(stdout.getvalue().splitlines()[-1])


def test_published_ratings_keep_their_correlations(tmp_path: Path):
    factories.study("kumar")
    messages = write_conversations(tmp_path / "conversations.jsonl")
    write_ratings(tmp_path / "ratings.csv")

    added = command("import_conversations", "kumar", str(tmp_path / "conversations.jsonl"))
    rated = command("import_ratings", "kumar", str(tmp_path / "ratings.csv"), "--as-is")
    exported = command("export", "kumar", "--out", str(tmp_path / "export"))
    analyse(tmp_path / "export", tmp_path / "results", bootstrap=20)

    assert (added["added"], rated["added"], rated["missing"]) == (50, 2100, 0)
    assert (exported["rows"]["conversations.csv"], exported["rows"]["ratings.csv"]) == (50, 2100)
    assert exported["rows"]["turns.csv"] == messages
    found = {
        (row["judge"], row["human"], row["item"]): float(row["pearson"])
        for row in read(tmp_path / "results" / "agreement.csv")
    }
    assert found == pytest.approx(raw_correlations(), abs=1e-12)
    assert len(found) == 3 * 5 * (6 + 1)
