"""What a line of a file is."""

import json

from hypothesis import given
from hypothesis import strategies as st

from studies.data.exports.lines import format_line


@given(st.text())
def test_a_row_is_one_line_however_lines_are_split(text):
    """JSON files of others have been broken by U+2028, at which str.splitlines splits and JSON does not."""
    written = format_line({"content": text.encode("utf-8", "ignore").decode()})
    assert len(written.splitlines()) == 1
    assert json.loads(written) == {"content": text.encode("utf-8", "ignore").decode()}


def test_chinese_stays_readable():
    assert format_line({"content": "我很难过"}) == '{"content": "我很难过"}\n'
