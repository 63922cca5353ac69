from collections.abc import Iterator

from studies.data.exports.columns import Filter
from studies.data.exports.lines import Row
from studies.data.exports.recorded_calls import build_recording, get_ended_calls
from studies.data.exports.tables import calls_of
from studies.management.export_lines import ExportLines
from studies.models import Study

NO_CALL = "No model has been asked yet."
NONE_OF_PEOPLE = "Models have been asked only about test data."
SCRIPTED_ALONE = (
    "Only scripted models have been asked. They need no recording; calls.csv of an export lists their calls."
)


class Command(ExportLines):
    help = (
        "Writes what models answered, a line of JSON for each call. Where REPLAY names the file they are played again: "
        "the same work once more, without a network. Test data only with --include-tests. See docs/models.md."
    )
    one, more = "call", "calls"

    def count(self, study: Study, only: Filter) -> int:
        return get_ended_calls(study, only).count()

    def rows(self, study: Study, only: Filter) -> Iterator[Row]:
        return build_recording(study, only)

    def study_of(self, row: Row) -> str | None:
        return row.get("study") if row.keys() >= {"question", "replicate", "attempt"} else None

    def why_nothing(self, study: Study) -> str:
        every = Filter(include_tests=True)
        if get_ended_calls(study, every).exists():
            return NONE_OF_PEOPLE
        return SCRIPTED_ALONE if calls_of(study, every).filter(kind="scripted").exists() else NO_CALL
