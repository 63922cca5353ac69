"""Mask identifying details in the words of exported tables, where the study says so (`redact_exports`)."""

from dialogue.deidentification.redaction import redact_message
from studies.data.exports.columns import REDACTED, Filter, Rows, Table
from studies.models import Study


def read_rows(table: Table, study: Study, only: Filter) -> Rows:
    """Return the rows of a table as they are exported."""
    rows = table.rows(study, only)
    places = [place for place, column in enumerate(table.columns) if column.in_words]
    return mask_rows(rows, places, table.columns.index(REDACTED)) if places and is_masked(study) else rows


def is_masked(study: Study) -> bool:
    """Return whether the current version says that exports are masked."""
    newest = study.protocols.order_by("-version").values_list("design__chat__redact_exports", flat=True)
    return bool(newest.first())


def mask_rows(rows: Rows, places: list[int], mark: int) -> Rows:
    """Yield the rows with the words at `places` masked, and whether anything was at `mark`."""
    for row in rows:
        masked = list(row)
        masked[mark] = False
        for place in places:
            masked[place], matches = redact_message(row[place] or "")
            masked[mark] = masked[mark] or bool(matches)
        yield tuple(masked)
