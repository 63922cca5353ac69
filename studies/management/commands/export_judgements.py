from collections.abc import Iterator

from studies.data.exports.columns import Filter
from studies.data.exports.judgements import build_samples, get_judged_responses
from studies.data.exports.lines import Row
from studies.management.export_lines import ExportLines
from studies.models import Study


class Command(ExportLines):
    help = (
        "Writes what judges were asked and answered, a line of JSON for each judged conversation, in the form of "
        "inspect_ai's samples; test data only with --include-tests. See docs/judges.md."
    )
    one, more = "judged conversation", "judged conversations"

    def count(self, study: Study, only: Filter) -> int:
        return get_judged_responses(study, only).count()

    def rows(self, study: Study, only: Filter) -> Iterator[Row]:
        return build_samples(study, only)

    def study_of(self, row: Row) -> str | None:
        is_ours = row.keys() >= {"id", "epoch", "scores"} and isinstance(row.get("metadata"), dict)
        return row["metadata"].get("study") if is_ours else None

    def why_nothing(self, study: Study) -> str:
        if get_judged_responses(study, Filter(include_tests=True)).exists():
            return "Judges have answered only about test data."
        return "No judge has answered yet."
