"""The applicants of a study: who waits for the selection, and what they answered before it.

Their answers about safety are shown to safety officers alone, their gender and age to no one who has yet to score
them.
"""

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from studies.design.plan import SCREENING
from studies.instruments.definitions import DECLINED, Item
from studies.instruments.loading import load
from studies.models import Answer, Participation, SelectionScore, Study
from studies.models.participation import Status
from studies.participation.counts import filter_by_test
from studies.participation.language import instrument_language
from studies.selection.scoring import mean_total

SELECTION = "selection"  # the step
PROFILE = "profile"
PROBLEM, WORDS, EXPERIENCE = "issue_category", "issue_text", "llm_experience"
OF_COLUMNS = {(SCREENING, PROBLEM), (SCREENING, WORDS), (SCREENING, EXPERIENCE)}
BLIND = {(SCREENING, "age"), (PROFILE, "age_band"), (PROFILE, "gender"), (PROFILE, "gender_self_described")}
STABLE = "stable_condition"  # the criterion whose questions are about safety
BANDS = (18, 25, 35, 45, 55, 65)  # ages at which the bands of the profile begin
BAND_KEYS = ("", "18_24", "25_34", "35_44", "45_54", "55_64", "65_plus")

Answers = Mapping[tuple[str, str], str | float]  # answers by instrument and item


@dataclass(frozen=True)
class Applicant:
    person: Participation
    answers: Answers
    scores: Sequence[SelectionScore]
    times: Mapping[str, datetime]  # when they answered each instrument

    def __str__(self) -> str:
        return self.code

    @property
    def code(self) -> str:
        return self.person.code

    @property
    def since(self) -> datetime | None:
        """Return the time of their last answer, since which they wait."""
        return max(self.times.values(), default=None)

    @property
    def score(self) -> float | None:
        return mean_total(self.scores)

    @property
    def is_eligible(self) -> bool:
        """Return whether the screening lets them take part, or a researcher who looked at it."""
        admitted, screened = self.person.awaited_since, self.times.get(SCREENING)
        looked_at = admitted is not None and screened is not None and admitted > screened
        return looked_at or self.person.outcome.get("kind") == "eligible"

    def answer(self, item: str, instrument: str = SCREENING) -> str:
        """Return the stored answer; empty if there is none."""
        return str(self.answers.get((instrument, item), ""))

    def words(self, item: str, instrument: str = SCREENING) -> str:
        """Return the answer in words of the page's language."""
        answer = self.answers.get((instrument, item))
        return "" if answer is None else load(instrument).item(item).words_of(answer, instrument_language())

    def age_band(self) -> str:
        """Return the band of their age, by the keys of the profile."""
        age = self.answers.get((SCREENING, "age"))
        return BAND_KEYS[bisect(BANDS, age)] if isinstance(age, float) else ""

    def is_scored_by(self, scorer: int | None) -> bool:
        return any(score.scorer_id == scorer for score in self.scores)


def is_applicant(person: Participation) -> bool:
    """Return whether a person waits for the selection, and not for another decision."""
    waits = person.status == Status.IN_REVIEW and person.position < len(person.plan)
    return waits and bool(person.plan[person.position]["kind"] == SELECTION)


def list_applicants(study: Study, test: str = "") -> list[Applicant]:
    """Return the applicants of a study, those who came first first. `test`: see `filter_by_test`."""
    return read(filter_by_test(study.participations.all(), test))


def find_applicant(study: Study, code: str) -> Applicant | None:
    return next(iter(read(study.participations.filter(code=code))), None)


def read(people: QuerySet[Participation]) -> list[Applicant]:
    waiting = people.filter(status=Status.IN_REVIEW).prefetch_related("selection_scores__scorer").order_by("pk")
    candidates = [person for person in waiting if is_applicant(person)]
    answers, times = read_answers(waiting)
    return [
        Applicant(person, answers[person.pk], list(person.selection_scores.all()), times[person.pk])
        for person in candidates
    ]


def read_answers(people: QuerySet[Participation]) -> tuple[dict[int, Answers], dict[int, dict[str, datetime]]]:
    """Return what people answered about themselves, and when. Before the selection there is nothing else."""
    answers: dict[int, dict[tuple[str, str], str | float]] = defaultdict(dict)
    times: dict[int, dict[str, datetime]] = defaultdict(dict)
    rows = Answer.objects.filter(response__rater__participation__in=people.order_by(), response__run=None)
    for pk, at, instrument, item, value, text, missing in rows.order_by("response__submitted_at", "pk").values_list(
        "response__rater__participation",
        "response__submitted_at",
        "response__instrument",
        "item",
        "value",
        "text",
        "missing_reason",
    ):
        times[pk][instrument] = at
        if value is not None or text or missing == DECLINED:
            answers[pk][instrument, item] = (text or missing) if value is None else value
    return defaultdict(dict, answers), times


def is_about_safety(instrument: str, item: str) -> bool:
    return instrument == SCREENING and item in safety_items()


def safety_items() -> set[str]:
    """Return the questions of the screening that are about safety."""
    questions = load(SCREENING).raw["questions"]
    return {one["id"] for one in questions if one.get("safety") or one.get("criterion") == STABLE}


def describe_answers(answers: Answers, keys: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield question and answer in the language of the page."""
    language = instrument_language()
    for instrument, key in keys:
        item = next((one for one in load(instrument).items if one.key == key), None)
        if item is not None:  # a closing remark is none
            yield short_text(item, language), item.words_of(answers[instrument, key], language)


def short_text(item: Item, language: str) -> str:
    return (item.label or item.text)[language]


def other_answers(applicant: Applicant) -> list[tuple[str, str]]:
    """Return the answers that have no column of their own and that every scorer may see."""
    keys = [key for key in applicant.answers if key not in OF_COLUMNS | BLIND and not is_about_safety(*key)]
    return list(describe_answers(applicant.answers, keys))


def blind_answers(applicant: Applicant) -> list[tuple[str, str]]:
    """Return age and gender, for those who have scored the applicant."""
    return list(describe_answers(applicant.answers, [key for key in applicant.answers if key in BLIND]))


def safety_answers(applicant: Applicant) -> list[tuple[str, str]]:
    """Return the answers about safety, for safety officers alone."""
    return list(describe_answers(applicant.answers, [key for key in applicant.answers if is_about_safety(*key)]))
