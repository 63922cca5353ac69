"""The papers' numbers as data: each says where it is printed, and what stands beside it can be computed."""

import csv
import json
from pathlib import Path

import pytest
from django.conf import settings

from studies.analysis.tables.registry import TABLES
from studies.replication.papers import Paper, Results, read_paper
from studies.replication.walks import PAPERS

COLUMNS = {table.name: set(table.columns) for table in TABLES if not table.file}
LANGUAGES = {"en", "zh"}


@pytest.fixture(params=PAPERS)
def paper(request: pytest.FixtureRequest) -> Paper:
    return read_paper(request.param)


def test_every_text_is_there_in_each_language(paper: Paper) -> None:
    texts = [text for entry in paper.entries for text in (entry.where, entry.shows, entry.why)]
    texts += [number["what"] for entry in paper.entries for number in entry.numbers]
    texts += [layout["title"] for entry in paper.entries for layout in entry.layouts]
    assert [text for text in texts if text.keys() != LANGUAGES or not all(text.values())] == []


def test_every_number_says_where_it_is_printed(paper: Paper) -> None:
    numbers = [number for entry in paper.entries for number in entry.numbers]
    assert [number for number in numbers if not (number["source"] and number["printed"])] == []
    assert {entry.compare for entry in paper.entries} <= {"models", "people", "page", "no"}


def test_every_kind_of_raters_has_words_in_each_language(paper: Paper) -> None:
    words = json.loads((settings.FIXTURES / "papers" / "words.json").read_text(encoding="utf-8"))
    wheres = [number["ours"]["where"] for entry in paper.entries for number in entry.numbers if number["ours"]]
    kinds = {str(where.get("raters", where.get("human"))) for where in wheres if {"raters", "human"} & set(where)}
    assert kinds
    assert [kind for kind in kinds for said in words.values() if "{what}" not in said.get(f"by_{kind}", "")] == []


def test_every_query_names_columns_that_the_analysis_writes(paper: Paper) -> None:
    queries = [number["ours"] for entry in paper.entries for number in entry.numbers]
    layouts = [layout for entry in paper.entries for layout in entry.layouts]
    unknown = [query for query in queries if not {query["column"], *query["where"]} <= COLUMNS[query["table"]]]
    unknown += [
        one
        for one in layouts
        if not {one["column"], one["across"], *one["lines"], *one["where"]} <= COLUMNS[one["table"]]
    ]
    assert unknown == []


ROWS = [
    {"arm": "a", "item": "x", "mean": "2.5"},
    {"arm": "a", "item": "y", "mean": ""},
    {"arm": "b", "item": "x", "mean": "4"},
    {"arm": "b", "item": "y", "mean": "1"},
]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    (tmp_path / "results").mkdir()
    with (tmp_path / "results" / "arms.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["arm", "item", "mean"])
        writer.writeheader()
        writer.writerows(ROWS)
    return Results(tmp_path)


@pytest.mark.parametrize(
    ("where", "over", "told"),
    [
        ({"arm": "a", "item": "x"}, "mean", "2.50"),
        ({"item": "x"}, "range", "2.50 … 4.00"),
        ({"item": ["x", "y"]}, "mean", "2.50"),
        ({}, "lowest", "1.00"),
        ({}, "highest", "4.00"),
        ({}, "most", "4"),
        ({}, "whole", "2"),
        ({}, "count", "3"),
        ({"arm": "a", "item": "y"}, "mean", ""),
        ({"arm": "c"}, "mean", ""),
    ],
)
def test_number_of_ours_is_read_from_a_table(results: Results, where: dict, over: str, told: str) -> None:
    assert results.value({"table": "arms", "where": where, "column": "mean", "over": over}) == told


def test_table_is_laid_out_as_asked(results: Results) -> None:
    layout = {
        "table": "arms",
        "where": {},
        "column": "mean",
        "lines": ["arm"],
        "across": "item",
        "order": {"y": "Y", "x": "X"},
    }
    assert results.laid_out(layout) == [["arm", "Y", "X"], ["a", "–", "2.50"], ["b", "1.00", "4.00"]]
