"""Published runs of simulated seekers go in, come out again, and give the figures that they have in their own file.

SAGE (Tencent/digitalhuman, MIT): the same hundred seekers with each model, their emotion (0 to 100) at each message of
theirs, and twenty of these dialogues in Chinese. The data are not part of this project.
"""

import csv
import json
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # noqa: TID253
import pingouin  # noqa: TID253
import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse
from scipy import stats  # noqa: TID253

from studies.analysis import analyse
from tests import factories

DATA = settings.BASE_DIR.parent / "shared" / "data"
TRAJECTORIES = DATA / "sage_trajectories_gpt4o_sim.json"
DIALOGUES = DATA / "sage_full_dialogues_20.json"
SIMULATOR = "gpt-4o-2024-0806"  # another simulator's seekers are others: its run belongs to no comparison with these
TURNS = 10
# A seeker whose emotion falls below 10 or reaches 100 says goodbye; of the others the tenth message is the last.
ENDS = {"Emotion-F": "walked_out", "Emotion-S": "satisfied"}
INCIDENCES = [f"incidence: {end}" for end in (*ENDS.values(), "cap")]
BAD, GOOD = 10, 100

Node = dict[str, Any]

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        not (TRAJECTORIES.is_file() and DIALOGUES.is_file()), reason="REAL DATA SKIPPED: SAGE's runs are not at hand"
    ),
]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def command(*arguments: str) -> Node:
    stdout = StringIO()
    call_command(*arguments, "--json", verbosity=0, stdout=stdout)
    return json.loads(stdout.getvalue().splitlines()[-1])


def loaded(path: Path) -> list[Node]:
    return json.loads(path.read_text(encoding="utf-8"))


def write_lines(path: Path, nodes: list[Node]) -> str:
    path.write_text("\n".join(json.dumps(node, ensure_ascii=False) for node in nodes), encoding="utf-8")
    return str(path)


# Trajectories


def id_of(run: Node) -> str:
    return f"{run['model']} {run['profile']}"


def trajectory(run: Node) -> Node:
    """What was said is not in the file."""
    return {
        "id": id_of(run),
        "arm": run["model"],
        "profile": run["profile"],
        "language": "zh",
        "end_reason": ENDS.get(run["state"], "cap"),
        "turns": [{"seeker": "", "supporter": "", "emotion": emotion} for emotion in run["emotion"]],
    }


def write_final_scores(path: Path, runs: list[Node]) -> str:
    about = {"rater": SIMULATOR, "rater_kind": "simulated_seeker", "instrument": "sage", "item": "final"}
    rows = [about | {"conversation": id_of(run), "score": run["final"]} for run in runs]
    pd.DataFrame(rows).to_csv(path, index=False)
    return str(path)


@pytest.fixture(scope="module")
def runs() -> list[Node]:
    return [run for run in loaded(TRAJECTORIES) if run["simulator"] == SIMULATOR]


@pytest.fixture(scope="module")
def raw(runs: list[Node]) -> pd.DataFrame:
    """One row per run, one column more: its end."""
    return pd.DataFrame(runs).assign(end=[ENDS.get(run["state"], "cap") for run in runs])


@pytest.fixture(scope="module")
def folder(
    runs: list[Node], tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Path:
    """Of the export and, in `results`, of its analysis; the database is left as it was."""
    path = tmp_path_factory.mktemp("sage")
    with django_db_blocker.unblock(), transaction.atomic():
        factories.study("sage")
        lines = write_lines(path / "conversations.jsonl", [trajectory(run) for run in runs])
        command("import_conversations", "sage", lines)
        command("import_ratings", "sage", write_final_scores(path / "final.csv", runs), "--as-is")
        command("export", "sage", "--out", str(path / "export"))
        transaction.set_rollback(True)
    analyse(path / "export", path / "results", bootstrap=20)
    return path


def result(folder: Path, name: str) -> pd.DataFrame:
    """An empty cell is an empty text, but for these two."""
    path = folder / "results" / f"{name}.csv"
    return pd.read_csv(path, keep_default_na=False, na_values={"turn": "", "estimate": ""})


def test_state_final_score_and_turns_tell_the_same_end(raw: pd.DataFrame) -> None:
    """Otherwise the ends above would be a guess."""
    assert raw["final"].tolist() == [emotion[-1] for emotion in raw["emotion"]]
    by_score = np.select([raw["final"] < BAD, raw["final"] >= GOOD], ["walked_out", "satisfied"], "cap")
    assert raw["end"].tolist() == by_score.tolist()
    assert set(raw.loc[raw["end"] == "cap", "turns"]) == {TURNS}


def test_export_has_every_run_with_its_arm_end_and_emotions(folder: Path, raw: pd.DataFrame) -> None:
    exported = pd.read_csv(folder / "export" / "conversations.csv")
    assert exported.groupby("arm").size().to_dict() == raw.groupby("model").size().to_dict()
    columns = ["arm", "profile", "end_reason", "turns"]
    assert exported[columns].values.tolist() == raw[["model", "profile", "end", "turns"]].values.tolist()
    turns = pd.read_csv(folder / "export" / "turns.csv").query("role == 'seeker'")
    assert turns.groupby("conversation", sort=False)["emotion"].apply(list).tolist() == raw["emotion"].tolist()
    assert pd.read_csv(folder / "export" / "ratings.csv")["score"].tolist() == raw["final"].tolist()


def test_trends_are_the_means_of_those_who_are_still_there(folder: Path, raw: pd.DataFrame) -> None:
    emotions = raw.explode("emotion").astype({"emotion": float})
    emotions["turn"] = emotions.groupby(level=0).cumcount() + 1
    expected = emotions.groupby(["model", "turn"])["emotion"].agg(["mean", "size"]).reset_index()
    found = result(folder, "trends").query("statistic == 'mean' and item == 'emotion'")
    assert found["arm"].tolist() == expected["model"].tolist()
    assert found["turn"].tolist() == expected["turn"].tolist()
    assert found["n"].tolist() == expected["size"].tolist()
    assert found["estimate"].tolist() == pytest.approx(expected["mean"].tolist(), rel=1e-9)


def test_emotion_changes_from_the_first_message_to_the_final_score(folder: Path, raw: pd.DataFrame) -> None:
    first = raw["emotion"].map(lambda emotion: emotion[0])
    table = pd.DataFrame({"before": first, "after": raw["final"], "change": raw["final"] - first, "arm": raw["model"]})
    expected = table.groupby("arm").mean()
    found = result(folder, "emotion")
    assert set(found["measure"]) == {"emotion"}
    assert set(found["source"]) == {"imported_profile"}
    several = raw["turns"].groupby(raw["model"]).agg(lambda turns: (turns > 1).sum())
    assert found.query("statistic == 'change'").set_index("arm")["n"].to_dict() == several.to_dict()
    for statistic in expected:
        estimates = found[found["statistic"] == statistic].set_index("arm")["estimate"]
        assert estimates.to_dict() == pytest.approx(expected[statistic].to_dict(), rel=1e-9)


def test_slopes_are_those_of_least_squares_with_an_own_height_for_each_run(folder: Path, raw: pd.DataFrame) -> None:
    expected = {}
    for model, of_model in raw.groupby("model"):
        centred = [(np.arange(len(e)) - (len(e) - 1) / 2, np.array(e) - np.mean(e)) for e in of_model["emotion"]]
        expected[model] = sum(x @ y for x, y in centred) / sum(x @ x for x, y in centred)
    found = result(folder, "trends").query("statistic == 'slope' and item == 'emotion'").set_index("arm")
    assert found["estimate"].to_dict() == pytest.approx(expected, rel=1e-9)
    assert set(found["n"]) == {100}


def test_survival_is_the_plain_share_that_has_ended_in_each_way(folder: Path, raw: pd.DataFrame) -> None:
    """No one is censored before the last turn, so Aalen-Johansen's estimate is a share of the hundred."""
    table = result(folder, "survival")
    shares = table[table["statistic"].str.match("open$|incidence: ")].set_index(["arm", "statistic", "turn"])
    expected, at_risk = {}, {}
    for model, of_model in raw.groupby("model"):
        for turn in range(1, TURNS + 1):
            ended = of_model[of_model["turns"] <= turn]
            by_end = {end: (ended["end"] == end).sum() / len(of_model) for end in (*ENDS.values(), "cap")}
            expected |= {(model, f"incidence: {end}", turn): share for end, share in by_end.items()}
            expected[model, "open", turn] = 1 - sum(by_end[end] for end in ENDS.values())
            at_risk |= {(model, what, turn): (of_model["turns"] >= turn).sum() for what in ("open", *INCIDENCES)}
    assert shares["estimate"].to_dict() == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert shares["n"].to_dict() == at_risk
    others = table[(table["arm"] != "*") & ~table["statistic"].str.match("open$|ongoing$|incidence: ")]
    assert set(others["n"]) == set(table["clusters"]) == {100}


def test_arms_have_the_means_of_the_final_scores(folder: Path, raw: pd.DataFrame) -> None:
    expected = raw.groupby("model")["final"].agg(["size", "mean", "std"])
    found = result(folder, "arms").set_index("arm")
    assert found["n"].to_dict() == expected["size"].to_dict()
    assert found["mean"].to_dict() == pytest.approx(expected["mean"].to_dict(), rel=1e-9)
    assert found["sd"].to_dict() == pytest.approx(expected["std"].to_dict(), rel=1e-9)


def test_discrimination_is_that_of_scipy_and_pingouin_on_profiles_by_models(folder: Path, raw: pd.DataFrame) -> None:
    scores = raw.pivot(index="profile", columns="model", values="final")
    users, models = scores.shape
    columns = scores.to_numpy(float).T
    oneway, friedman = stats.f_oneway(*columns), stats.friedmanchisquare(*columns)
    repeated = pingouin.rm_anova(raw, dv="final", within="model", subject="profile", correction=True).iloc[0]
    separation = columns.mean(axis=1).var() / columns.var(axis=1, ddof=1).mean()
    row = result(folder, "discrimination").iloc[0]
    assert (row["raters"], row["item"]) == ("simulated_seeker", "final")
    assert (row["users"], row["models"]) == (100, 6) == (users, models)
    assert len(raw) == 600
    expected = {
        "msr": separation,
        "mac": separation / (1 + separation),
        "f_oneway": oneway.statistic,
        "f_eq13": oneway.statistic * (users - 1) / users,
        "f_repeated": repeated["F"],
        "p_repeated": repeated["p_GG_corr"],
        "kendall_w": friedman.statistic / users / (models - 1),
    }
    assert row[list(expected)].to_dict() == pytest.approx(expected, rel=1e-9)
    others = result(folder, "sensitivity")
    found = others[(others["statistic"] == "friedman_p") & (others["item"] == "final")]
    assert found["estimate"].tolist() == pytest.approx([friedman.pvalue], rel=1e-9)


# Dialogues

GOODBYES = 6  # without a reply


def dialogue(node: Node) -> Node:
    """A goodbye has no reply."""
    seeker, supporter = (
        [message for message in node["history"] if message["role"] == role] for role in ("user", "assistant")
    )
    replies = [message["content"] for message in supporter] + [None] * (len(seeker) - len(supporter))
    return {
        "id": node["id"],
        "arm": "gpt-4o-0806",
        "language": "zh",
        "end_reason": ENDS.get(node["emo_state"], "cap"),
        "turns": [
            {"seeker": message["content"], "supporter": reply, "emotion": message["emotion-point"]}
            for message, reply in zip(seeker, replies, strict=True)
        ],
    }


def said(turns: list[Node]) -> list[tuple[str, str, str]]:
    return [
        message
        for turn in turns
        for message in (("seeker", turn["seeker"], str(turn["emotion"])), ("supporter", turn["supporter"], ""))
        if message[1] is not None
    ]


def test_dialogues_come_out_with_their_words_and_emotions(tmp_path: Path) -> None:
    factories.study("sage")
    lines = [dialogue(node) for node in loaded(DIALOGUES)]
    added = command("import_conversations", "sage", write_lines(tmp_path / "dialogues.jsonl", lines))
    exported = command("export", "sage", "--out", str(tmp_path / "export"))

    assert (added["added"], added["turns"]) == (20, 191)
    assert (exported["rows"]["conversations.csv"], exported["rows"]["turns.csv"]) == (20, 2 * 191 - GOODBYES)
    ends = {row["conversation"]: row["end_reason"] for row in read(tmp_path / "export" / "conversations.csv")}
    assert ends == {line["id"]: line["end_reason"] for line in lines}
    found: dict[str, list[tuple[str, str, str]]] = {}
    for row in read(tmp_path / "export" / "turns.csv"):
        found.setdefault(row["conversation"], []).append((row["role"], row["text"], row["emotion"]))
    assert found == {line["id"]: said(line["turns"]) for line in lines}


def test_a_line_separator_in_real_words_is_kept(tmp_path: Path) -> None:
    """SAGE's files have U+2028 inside strings; these twenty have none, so one is put in."""
    factories.study("sage")
    line = dialogue(loaded(DIALOGUES)[0])
    line["turns"][0]["seeker"] = line["turns"][0]["seeker"].replace("，", "，\u2028")
    command("import_conversations", "sage", write_lines(tmp_path / "dialogues.jsonl", [line]))
    command("export", "sage", "--out", str(tmp_path / "export"))
    first = read(tmp_path / "export" / "turns.csv")[0]["text"]
    assert first == line["turns"][0]["seeker"]
    assert "\u2028" in first


def test_researchers_read_a_dialogue_with_its_emotions(tmp_path: Path) -> None:
    study = factories.study("sage")
    line = dialogue(loaded(DIALOGUES)[2])
    command("import_conversations", "sage", write_lines(tmp_path / "dialogues.jsonl", [line]))
    client = Client()
    client.force_login(User.objects.create(username="ada", is_staff=True, is_superuser=True))
    code = study.runs.get().conversation.code
    response = client.get(reverse("research-conversation", args=["sage", code]))
    page = unescape(response.content.decode())
    assert response.status_code == 200
    assert line["end_reason"] == "walked_out"
    for turn in line["turns"]:
        assert all(paragraph in page for paragraph in turn["seeker"].split("\n"))
        assert all(paragraph in page for paragraph in (turn["supporter"] or "").split("\n"))
        assert f"emotion as imported: {turn['emotion']}" in page
    assert line["turns"][-1]["supporter"] is None
    assert page.count("The file has no reply to this message.") == 1
    [drawn] = response.context["emotions"]
    assert drawn.rows == [(number, [str(turn["emotion"])]) for number, turn in enumerate(line["turns"], 1)]
