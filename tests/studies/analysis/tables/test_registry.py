"""The list of tables: every module that has one is in it, and every table has its place in the report."""

import re
from pathlib import Path

from studies.analysis.reporting import sections
from studies.analysis.tables import registry
from studies.analysis.tables.registry import MODULES, TABLES


def test_every_module_with_a_table_is_listed() -> None:
    paths = Path(registry.__file__).parent.glob("*.py")
    found = {path.stem for path in paths if "\nTABLE = Table(" in path.read_text(encoding="utf-8")}
    assert found == set(MODULES)
    assert len(MODULES) == len(found)


def test_every_table_stands_in_a_section_that_the_report_can_have() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(sections.__file__).parent.glob("*.py")]
    keys = {key for text in texts for key in re.findall(r'\b[Ss]ection\("([\w-]+)"', text)}
    assert {table.section_key() for table in TABLES} <= keys


def test_every_table_says_what_it_is_and_why_it_may_be_empty() -> None:
    assert [table.name for table in TABLES if not (table.heading and table.empty and table.methods)] == []
    assert [table.name for table in TABLES if len(set(table.columns)) < len(table.columns)] == []
