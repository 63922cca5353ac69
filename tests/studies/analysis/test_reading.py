from pathlib import Path

import numpy as np
import pytest

from studies.analysis import AnalysisError
from studies.analysis.frames import EXPORTED
from studies.analysis.reading import TRUTHS, amounts, counts, line_of, numbers, read_table, refuse_repeated, truths
from studies.data.exports.tables import TABLES


def table(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode())
    return path


def test_read_table_keeps_texts_that_look_like_numbers_or_truths(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, "a,b,c\n007,true,1.0\n7,false,1\n"), ("a", "b", "c"))
    assert read.astype(str).to_numpy().tolist() == [["007", "true", "1.0"], ["7", "false", "1"]]


def test_read_table_keeps_a_text_that_is_the_name_of_its_column(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, "item,score\nitem,1\ncare,2\n"), ("item",))
    assert list(read["item"]) == ["item", "care"]
    assert list(read["item"].cat.categories) == ["care", "item"]
    assert list(read_table(table(tmp_path, "item,score\ncare,2\n"), ("item",))["item"].cat.categories) == ["care"]


@pytest.mark.parametrize("missing", ["NA", "nan", "null", "None", "", "-"])
def test_read_table_takes_no_text_for_a_gap(tmp_path: Path, missing: str) -> None:
    read = read_table(table(tmp_path, f"a,b\n{missing},1\nx,2\n"), ("a", "b"))
    assert list(read["a"]) == [missing, "x"]


def test_read_table_orders_columns_as_they_are_asked_for_and_fills_absent_ones(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, "\ufeffb,x,a\n1,2,3\n"), ("a", "b"), ("c",))
    assert read.to_dict("records") == [{"a": "3", "b": "1", "c": ""}]


def test_read_table_counts_the_rows_of_a_file_that_has_no_wanted_column(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, "x,y\n1,2\n\n3,4\n"), (), ("a",))
    assert list(read["a"]) == ["", ""]


def test_read_table_of_a_header_alone_has_no_rows(tmp_path: Path) -> None:
    assert read_table(table(tmp_path, "a,b\n"), ("a",), ("c",)).shape == (0, 2)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "table.csv: is empty"),
        ("\ufeff\n\n", "table.csv: is empty"),
        (
            "\ufeffa;b\n1;3,5\n",
            "table.csv:1: is separated by semicolons, as Excel saves it in some countries; it must be by commas",
        ),
        ("a\tb\n1\t3,5\n", "table.csv:1: is separated by tabs; it must be by commas"),
        ('a,b\n"1\n2",3\n\n4\n', "table.csv:5: 1 fields under 2 columns"),
        ("a,b\r1,2\r3\r", "table.csv:3: 1 fields under 2 columns"),
        ('a,b\n5" screen,1\n6" or "7,8",2\n', "table.csv:3: 3 fields under 2 columns"),
        ('a,b\n"1\n2",3\n\n4,"5\n6,7\n', "table.csv:5: a quotation mark is not closed"),
        ('a,b\n1,2\n3,"4', "table.csv:3: a quotation mark is not closed"),
        ('a,b\n"1,2\n3,4\n', "table.csv:2: a quotation mark is not closed"),
        ('a,"b\n1,2\n', "table.csv:1: a quotation mark is not closed"),
        ("a,b,a\n1,2,3\n", "table.csv:1:a: the column is there twice"),
    ],
)
def test_read_table_names_where_a_file_is_broken(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(AnalysisError) as raised:
        read_table(table(tmp_path, text), (), ("a",))
    assert str(raised.value) == fault


def test_read_table_keeps_quotation_marks_within_a_text(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, 'a,"b\nc"\nc"9"9,"d"98\n"e""9",6"\n'), ("a", "b\nc"))
    assert read.astype(str).to_numpy().tolist() == [['c"9"9', "d98"], ['e"9', '6"']]


def test_read_table_counts_the_byte_that_is_not_utf8_from_the_beginning_of_the_file(tmp_path: Path) -> None:
    path = table(tmp_path, "a\n" + "x\n" * 500_000)
    with path.open("ab") as file:
        file.write(b"\xfc\n")
    with pytest.raises(
        AnalysisError, match=r"^table\.csv:500002: is not UTF-8 \(invalid start byte at byte 1000002\);"
    ):
        read_table(path, ("a",))


def test_line_of_counts_quoted_line_breaks_and_skips_blank_lines(tmp_path: Path) -> None:
    path = table(tmp_path, 'a\n"1\n2"\n\n3\n4\n')
    assert [line_of(path, row) for row in range(3)] == [2, 5, 6]


def test_numbers_name_the_first_fault(tmp_path: Path) -> None:
    path = table(tmp_path, "a\n1\n2\nx\ny\n")
    with pytest.raises(AnalysisError, match=r"^table\.csv:4:a: 'x' is not a number$"):
        numbers(path, read_table(path, ("a",))["a"])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("-1", "'-1' is not a whole number from 0 to 100,000"),
        ("2.5", "'2.5' is not a whole number from 0 to 100,000"),
        ("100001", "'100001' is not a whole number from 0 to 100,000"),
        ("9" * 400, f"'{'9' * 400}' is not a whole number from 0 to 100,000"),
        ("1e3", "'1e3' is not a whole number from 0 to 100,000"),
    ],
)
def test_counts_name_the_first_fault(tmp_path: Path, text: str, fault: str) -> None:
    path = table(tmp_path, f"a,b\n0,\n{text},\n")
    with pytest.raises(AnalysisError) as raised:
        counts(path, read_table(path, ("a",))["a"])
    assert str(raised.value) == f"table.csv:3:a: {fault}"


def test_counts_are_read_as_a_spreadsheet_saves_them(tmp_path: Path) -> None:
    path = table(tmp_path, "a,b\n0,\n5.0,\n 7 ,\n100000,\n,\n")
    np.testing.assert_array_equal(counts(path, read_table(path, ("a",))["a"]), [0, 5, 7, 100_000, np.nan])


def test_amounts_are_not_below_0(tmp_path: Path) -> None:
    path = table(tmp_path, "a,b\n0,1\n2.5,2\n,-.5\n")
    read = read_table(path, ("a", "b"))
    np.testing.assert_array_equal(amounts(path, read["a"]), [0, 2.5, np.nan])
    with pytest.raises(AnalysisError, match=r"^table\.csv:4:b: '-\.5' is below 0$"):
        amounts(path, read["b"])


def test_truths_are_read_as_a_spreadsheet_saves_them(tmp_path: Path) -> None:
    read = read_table(table(tmp_path, "valid,a\ntrue,TRUE\nTRUE,1\n1,\nFALSE,\n0,\nFalse ,\n,\n"), ("valid", "a"))
    assert list(read["valid"]) == ["true", "true", "true", "false", "false", "false", ""]
    assert list(read["a"])[:2] == ["TRUE", "1"]
    np.testing.assert_array_equal(truths(read["valid"]), [1, 1, 1, 0, 0, 0, np.nan])


def test_a_truth_in_another_word_is_refused(tmp_path: Path) -> None:
    path = table(tmp_path, "a,excluded\n1,TRUE\n,\nx,yes\ny,no\n")
    with pytest.raises(AnalysisError, match=r"^table\.csv:4:excluded: 'yes' is neither true nor false$"):
        read_table(path, (), ("excluded",))


def test_truths_are_those_of_the_exported_files() -> None:
    columns = [column for table in TABLES if table.file in EXPORTED for column in table.columns]
    assert {column.name for column in columns if column.type == "truth"} == set(TRUTHS)


def test_a_text_that_was_there_before_is_refused_with_both_lines(tmp_path: Path) -> None:
    path = table(tmp_path, 'a\n1\n"2\n"\n3\n2\n3\n1\n')
    with pytest.raises(AnalysisError, match=r"^table\.csv:7:a: '3' is in line 5 already$"):
        refuse_repeated(path, read_table(path, ("a",))["a"])
