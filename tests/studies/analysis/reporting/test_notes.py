"""Notes and methods are known again by their patterns, and said in Chinese."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from studies import analysis
from studies.analysis.bootstrap import Resampled
from studies.analysis.language import speaking
from studies.analysis.reporting import notes
from studies.analysis.reporting.notes import BETWEEN, SENTENCES, sentence, told
from tests.languages import CHINESE

ROOT = Path(analysis.__file__).parent
SOURCES = [ROOT / "bootstrap.py", ROOT / "scales.py", *sorted((ROOT / "tables").glob("*.py"))]
SOURCES += sorted((ROOT / "measures").glob("*.py"))
# In whose places words stand that are spelled out in SENTENCES: what they come to be.
SPELLED_OUT = {
    "the {} do not vary": ["the scores do not vary", "the ranks do not vary"],
    "the {} scores do not vary": ["the human scores do not vary", "the judge scores do not vary"],
    "one {} per conversation, so no reliability": ["one replicate per conversation, so no reliability"],
    "the {}s' reliability is not above 0": ["the raters' reliability is not above 0"],
    "only {} {}s, the interval may be too narrow": ["only 3 reviewers, the interval may be too narrow"],
    "interval: only {}, it may be too narrow": ["interval: only 3 raters × 5 clusters, it may be too narrow"],
    "{} of {} conversations, which are left out": ["no price is known of 3 conversations, which are left out"],
    "{}: {}": [
        "icc_a_1: no interval could be had",
        "gwet_ac2: scale taken from the scores, 1 to 5: codebook.csv tells none",
    ],
    "no previous arm in the model: {}": ["no previous arm in the model: arm, position and previous arm go together"],
    "not comparable: {}": ["not comparable: the table has no number"],
    "no profile in the model: {}": ["no profile in the model: every rating has its own profile"],
}
CATALOGUE = {
    "fewer than two clusters": "少于两个聚类",
    "interval": "区间",
    "{count} of {all} resamples had no variance and are left out": "{all} 次中 {count} 次未计入",
    "no {term} in the model": "模型中没有{term}",
    "{term} and {other} go together": "{term}与{other}无法区分",
    "card": "角色卡",
}


def given(tree: ast.AST) -> Iterator[ast.expr]:
    """What is raised as `Undefined`, noted, or told as the reason of a gap."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        name = getattr(call.func, "id", getattr(call.func, "attr", ""))
        if name in ("Undefined", "add_notes"):
            yield from call.args
        yield from (keyword.value for keyword in call.keywords if keyword.arg == "because")


def texts(node: ast.expr) -> Iterator[str]:
    """As templates, `{}` for what is not fixed; what stands elsewhere in the source gives none."""
    if isinstance(node, ast.IfExp):
        yield from (*texts(node.body), *texts(node.orelse))
    elif isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def written() -> list[str]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES]
    return sorted({text for tree in trees for node in given(tree) for text in texts(node)})


@pytest.mark.parametrize("text", written())
def test_every_note_of_a_table_is_known(text: str) -> None:
    for said in SPELLED_OUT.get(text, [text.replace("{}", "7")]):
        for part in said.split(BETWEEN):
            assert sentence(part) is not None


def test_every_word_of_a_known_sentence_is_in_the_source_of_the_tables() -> None:
    words = set(re.findall(r"\w+", "\n".join(path.read_text(encoding="utf-8") for path in SOURCES)))
    fixed = {said: set(re.findall(r"\w+", re.sub(r"{\w+}", "", said))) for said in SENTENCES}
    assert {said: found - words for said, found in fixed.items() if found - words} == {}


@pytest.mark.parametrize(
    "method",
    [
        "paired; BCa cluster bootstrap; Wilcoxon exact, all signs tried",
        "ICC: F; alpha: BCa cluster bootstrap; AC2: quadratic weights, percentile cluster bootstrap",
        "Student's t two-way cluster (counsellors × arms) bootstrap on Fisher's z; Spearman: percentile",
        "percentile pigeonhole bootstrap (raters × participants)",
        "Wilson, n = clusters; 3 arms",
        "likelihood ratio (ML), 2 df",
        "Wald F (REML), 3 and 24 df",
        "log-rank, variance of clusters",
        "log-rank, hypergeometric variance",
        "score, n = clusters",
    ],
)
def test_methods_are_known(method: str) -> None:
    unknown = [part for part in method.split(BETWEEN) if sentence(part) is None]
    assert unknown in ([], ["ICC: F"])  # which is called so everywhere


def test_what_a_bootstrap_notes_is_known() -> None:
    few = Resampled(0.5, np.array([0.4, 0.6]), np.array([0.4, 0.5, 0.6]), undefined=3)
    for lacking in ("had no variance", "did not have it", "ended before that turn by what is censored"):
        said = few.notes("interval", lacking=lacking)
        assert len(said) == 2
        assert None not in map(sentence, said)


@pytest.fixture
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "_translated", lambda message: CATALOGUE.get(message, message))


@pytest.mark.usefixtures("catalogue")
@pytest.mark.parametrize(
    ("said", "chinese"),
    [
        ("fewer than two clusters", "少于两个聚类"),
        ("low, high: fewer than two clusters", "low, high：少于两个聚类"),
        (
            "p: fewer than two clusters; interval: 3 of 2000 resamples had no variance and are left out",
            "p：少于两个聚类；区间：2000 次中 3 次未计入",
        ),
        ("no card in the model: card and counsellor go together", "模型中没有角色卡：角色卡与counsellor无法区分"),
        ("a sentence that is new; fewer than two clusters", "a sentence that is new；少于两个聚类"),
        ("", ""),
    ],
)
def test_a_note_is_put_together_again_in_chinese(said: str, chinese: str) -> None:
    with speaking(CHINESE):
        assert told(said) == chinese
    assert told(said) == said


def test_what_a_sentence_leaves_open_is_not_another_sentence() -> None:
    """A number stands there or a name, and never the columns that are left out."""
    assert notes._read("estimate: 3 of 8 replies") is None
    assert notes._read("3 of 8 replies") == ("{count} of {all} replies", {"count": "3", "all": "8"})
