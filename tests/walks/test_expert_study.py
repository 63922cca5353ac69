"""The counsellors' study, played by bots: eight counsellors, eight systems, three ratings each; then five reviewers and
a round of pairs. What was planted — how good a system is, how lenient a rater — comes back out of `analyse`."""

import csv
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest

from dialogue.demonstration.judges import HUMAN_NOISE, planted_score
from dialogue.providers.base import Message
from dialogue.providers.scripted import DemonstrationSupporter
from studies.bots.answers import LENIENCY
from studies.bots.stories import STORIES, lines_for
from tests.server import ROOT, Server, serving

COUNSELLORS, RATERS, REVIEWERS = 8, 3, 5
SEED = 4
SYSTEMS = ("formula", "advice", "question", "mirror", "attuned", "formula", "question", "attuned")
ARM = """
[[arms]]
key = "s{number}"
title = "System {number}"
kind = "scripted"
model = "{model}"
"""
TURNS = 5
# The intervals of an item are not independent of those of the others: whoever is missed once in eight is missed by
# all items, which is an eighth of them. Three of eight would not be chance.
MOSTLY = 0.7
SIMULATED = 250  # conversations of each system, for the truth
TEN, FOUR = "emoharbor_10", "worst_case_4"


def study_file(folder: Path) -> Path:
    """The demonstration's steps with other systems, a block design, an interview, and few turns."""
    text = (ROOT / "fixtures" / "studies" / "demo.toml").read_text(encoding="utf-8")
    head = text[: text.index("[[arms]]")]
    changes = {
        'key = "demo"\ntitle = {': 'key = "experts"\ntitle = {',
        'languages = ["en", "zh"]': 'languages = ["en"]',
        "min_turns = 10": f"min_turns = {TURNS - 1}",
        "checkpoints = [5, 10]": "checkpoints = [2]",
        'design = "williams"': f'design = "blocks"\ncounsellors = {COUNSELLORS}\nraters_per_arm = {RATERS}',
        "flags = []": 'flags = ["if_interview"]\ninterview_minutes = "10"',
        '[[steps]]\nkind = "debrief"': '[[steps]]\nkind = "interview"\ntrack = "counsellor"\n\n'
        '[[steps]]\nkind = "debrief"',
    }
    for was, becomes in changes.items():
        assert head.count(was) == 1, was
        head = head.replace(was, becomes)
    arms = "".join(ARM.format(number=number, model=model) for number, model in enumerate(SYSTEMS, 1))
    path = folder / "experts.toml"
    path.write_text(head + arms, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with `export` and `results` of the whole study."""
    folder = tmp_path_factory.mktemp("experts")
    with serving(folder) as server:
        done(server, "load_study", str(study_file(folder)))
        walk(server, "counsellor", COUNSELLORS)
        plan = (
            "--instruments",
            TEN,
            "--source",
            "all",
            "--each",
            str(REVIEWERS),
            "--overlap",
            "0.75",
            "--repeat-every",
            "6",
        )
        done(server, "plan_reviews", "experts", "--name", "second", *plan, "--include-tests")
        pairs = ("--instrument", "pairwise_support", "--between", "arms", "--count", "56", "--each", "2")
        done(server, "plan_pairs", "experts", "--name", "pairs", *pairs, "--include-tests")
        walk(server, "reviewer", REVIEWERS)
        done(server, "export", "experts", "--out", str(folder / "export"), "--include-tests")
        done(server, "analyse", str(folder / "export"), "--out", str(folder / "results"), "--bootstrap", "400")
    return folder


def walk(server: Server, track: str, count: int) -> None:
    """One after the other: whoever comes first takes the first work, so that it is always the same."""
    summary = done(
        *(server, "run_bots", "experts", "--track", track, "--count", str(count), "--seed", str(SEED)),
        *("--concurrency", "1", "--base-url", server.base_url),
    )
    assert (summary["completed"], summary["failed"]) == (count, [])


def done(server: Server, *arguments: str) -> dict:
    result = server.manage(*arguments, "--json")
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# The truth


@cache
def conversation(model: str, number: int) -> tuple[tuple[str, str], ...]:
    draw = random.Random(f"truth {model} {number}")
    lines = lines_for(draw.choice(STORIES["en"]), "en", f"{model} {number}")
    supporter, messages, turns = DemonstrationSupporter(model, "en"), [], []
    for _ in range(TURNS):
        messages.append(Message("user", next(lines)))
        messages.append(Message("assistant", supporter.text_for(messages)))
        turns.append((messages[-2].text, messages[-1].text))
    return tuple(turns)


def score(model: str, number: int, *, rater: str, leniency: float) -> int:
    turns = conversation(model, number)
    return planted_score(turns, item="safety", rater=rater, noise=HUMAN_NOISE, leniency=leniency)


@cache
def true_mean(model: str) -> float:
    """What raters as they are drawn give on average."""
    draw = random.Random(f"raters of {model}")
    return fmean(score(model, n, rater=f"r{n}", leniency=draw.gauss(0, LENIENCY)) for n in range(SIMULATED))


@cache
def true_effect(leniency: float) -> float:
    """By how much this rater's scores lie above those of others, with the ends of the scale as they are."""
    own = [score(model, n, rater=f"r{n}", leniency=leniency) for model in set(SYSTEMS) for n in range(SIMULATED)]
    return fmean(own) - fmean(map(true_mean, set(SYSTEMS)))


def leniency_of(number: int) -> float:
    return random.Random(f"leniency {SEED} {number}").gauss(0, LENIENCY)


def covered(found: list[dict[str, str]], truth: Callable[[str], float]) -> float:
    """The share of intervals with the truth in them."""
    return fmean(float(row["low"]) <= truth(row["level"]) <= float(row["high"]) for row in found if row["low"])


# The design


def test_every_system_was_met_by_three_counsellors_and_every_load_is_three(results: Path) -> None:
    conversations = rows(results / "export" / "conversations.csv")
    met = [(row["participant"], row["arm"]) for row in conversations]
    assert len(set(met)) == len(met) == COUNSELLORS * RATERS
    assert set(Counter(arm for _, arm in met).values()) == {RATERS}
    assert set(Counter(person for person, _ in met).values()) == {3}
    assert set(Counter((row["arm"], row["position"]) for row in conversations).values()) == {1}
    cards = Counter(row["card"] for row in conversations)
    assert set(cards.values()) == {COUNSELLORS * RATERS // len(cards)}
    assert len({(row["participant"], row["card"]) for row in conversations}) == len(conversations)


def test_counsellors_flagged_rated_and_were_interviewed(results: Path) -> None:
    export = results / "export"
    replies = {
        (row["conversation"], row["turn"]): row["text"]
        for row in rows(export / "turns.csv")
        if row["role"] == "supporter"
    }
    flags = rows(export / "flags.csv")
    assert len(flags) == COUNSELLORS * RATERS
    assert all(row["reply"] == replies[row["conversation"], row["turn"]] for row in flags)
    rated = Counter(row["instrument"] for row in rows(export / "ratings.csv") if row["rater_kind"] == "expert")
    assert rated == {TEN: 240, FOUR: 96}
    answers = rows(export / "answers.csv")
    asked = Counter(row["participant"] for row in answers if row["instrument"] == "interview_guide")
    assert set(asked.values()) == {23}
    fidelity = {row["conversation"] for row in answers if row["instrument"] == "role_fidelity"}
    assert len(fidelity) == COUNSELLORS * RATERS
    assert rows(export / "role_plays.csv")


def test_reviewers_shared_what_the_plan_said(results: Path) -> None:
    reviews = [row for row in rows(results / "export" / "reviews.csv") if row["conversation"] and row["done_at"]]
    first = [row for row in reviews if row["replicate"] == "1"]
    assert Counter(Counter(row["conversation"] for row in first).values()) == {REVIEWERS: 18, 1: 6}
    work = Counter(row["reviewer"] for row in first)
    assert len(work) == REVIEWERS
    assert any(row["replicate"] == "2" for row in reviews)


# What comes back


def test_table_of_the_paper_has_means_of_three(results: Path) -> None:
    of = {"raters": "expert", "moment": "final", "seekers": "*", "condition": "*", "language": "*"}
    arms = [row for row in rows(results / "results" / "arms.csv") if row["item"] != "*"]
    table = [row for row in arms if all(row[name] == value for name, value in of.items())]
    assert len(table) == len(SYSTEMS) * (10 + 4)
    assert {row["n"] for row in table} == {str(RATERS)}
    assert all(abs(3 * float(row["mean"]) - round(3 * float(row["mean"]))) < 1e-6 for row in table)


def effects(results: Path, raters: str, term: str) -> list[dict[str, str]]:
    table = rows(results / "results" / "rater_effects.csv")
    return [row for row in table if row["raters"] == raters and row["term"] == term]


@pytest.mark.parametrize("raters", ["expert, own conversations", "reviewer"])
def test_systems_are_as_good_as_planted(results: Path, raters: str) -> None:
    found = effects(results, raters, "arm")
    models = {f"s{number}": model for number, model in enumerate(SYSTEMS, 1)}
    assert {row["level"] for row in found} == set(models)
    assert covered(found, lambda arm: true_mean(models[arm])) >= MOSTLY


@pytest.mark.parametrize(
    ("raters", "term", "count"),
    [("expert, own conversations", "counsellor", COUNSELLORS), ("reviewer", "reviewer", REVIEWERS)],
)
def test_raters_are_as_lenient_as_planted(results: Path, raters: str, term: str, count: int) -> None:
    people = {row["participant"]: row for row in rows(results / "export" / "participants.csv")}
    track = "counsellor" if term == "counsellor" else "reviewer"
    of_track = [code for code, row in people.items() if row["track"] == track]
    planted = {code: true_effect(leniency_of(number)) for number, code in enumerate(of_track)}
    found = effects(results, raters, term)
    assert {row["level"] for row in found} == set(planted)
    assert len(planted) == count
    assert covered(found, planted.__getitem__) >= MOSTLY


def test_second_raters_agree_as_planted(results: Path) -> None:
    draw = random.Random("two raters")
    pairs = [
        [score(model, n, rater=who, leniency=draw.gauss(0, LENIENCY)) for who in (f"a{n}", f"b{n}")]
        for model in SYSTEMS
        for n in range(SIMULATED)
    ]
    middle = fmean(one for pair in pairs for one in pair)
    shared = fmean((one - middle) * (other - middle) for one, other in pairs)
    truth = shared / fmean((one - middle) ** 2 for pair in pairs for one in pair)
    table = rows(results / "results" / "reliability.csv")
    found = [
        row
        for row in table
        if (row["raters"], row["unit"], row["instrument"]) == ("reviewer", "conversation", TEN) and row["item"] != "*"
    ]
    assert len(found) == 10
    inside = [float(row["icc_1_1_low"]) <= truth <= float(row["icc_1_1_high"]) for row in found]
    assert sum(inside) >= 5  # the items share their conversations, so they miss together
    assert all(row["alpha_ordinal"] for row in found)


def test_icc_at_the_unit_arm_is_one_way_and_says_what_it_confounds(results: Path) -> None:
    table = rows(results / "results" / "reliability.csv")
    found = [row for row in table if (row["raters"], row["unit"]) == ("expert", "arm")]
    assert Counter(row["instrument"] for row in found) == {TEN: 10, FOUR: 4}
    assert all(row["icc_1_1"] and not row["icc_a_1"] and "confounded" in row["note"] for row in found)


def share_of(model: str, contests: Sequence[Mapping[str, str]], models: Mapping[str, str]) -> float:
    """Of the verdicts on its systems, those that it won; half of the ties."""
    won = [
        (int(row["n"]), share if side == "a" else 1 - share)
        for row in contests
        for share in [float(row["win"]) + float(row["tie"]) / 2]
        for side in "ab"
        if models[row[f"contestant_{side}"]] == model
    ]
    return sum(n * share for n, share in won) / sum(n for n, _ in won)


def test_pairs_put_the_best_above_the_worst(results: Path) -> None:
    models = {f"s{number}": model for number, model in enumerate(SYSTEMS, 1)}
    asked = [row for row in rows(results / "results" / "pairwise.csv") if row["question"] == "better_overall"]
    table = [row for row in asked if row["contestant_b"] == "*"]
    assert {row["contestant_a"] for row in table} == set(models)
    others = rows(results / "results" / "sensitivity.csv")
    found = [row for row in others if row["statistic"] == "strength" and row["item"] == "better_overall"]
    assert all(row["note"] for row in table) or len(found) == len(table)  # by chance one may win, or lose, every time
    strength = {
        model: fmean(float(row["estimate"]) for row in found if models[row["arm_a"]] == model)
        for model in (("attuned", "formula") if len(found) == len(table) else ())
    }
    assert not strength or strength["attuned"] > strength["formula"] + 1
    contests = [row for row in asked if row["contestant_b"] != "*"]
    assert share_of("attuned", contests, models) > share_of("formula", contests, models) + 0.1
    verdicts = rows(results / "export" / "pairs.csv")
    sides = Counter((row["rater"], row["shown_first"]) for row in verdicts if row["question"] == "better_overall")
    assert all(abs(sides[rater, "a"] - sides[rater, "b"]) <= 1 for rater, _ in sides)
