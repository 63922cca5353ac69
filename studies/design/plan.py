"""A study as the flat list of steps that one person walks. No step names an arm. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from studies.design.spec import MANUAL, ChatSpec, StepSpec, StudySpec

SCREENING = "screening"
TOPIC_QUESTIONS = {"choose": "between", "change": "new_topic"}  # before the next conversation; to keep it asks nothing
REVIEWER_STEPS = (StepSpec("questionnaire", "reviewer_agreement"), StepSpec("reviews"), StepSpec("pairs"))


@dataclass(frozen=True)
class Step:
    """A step of a plan.

    `key` is unique in a plan and stable; `run` counts the conversations from 1 and is 0 outside of them.
    """

    kind: str
    key: str
    instrument: str = ""
    run: int = 0
    phase: str = ""  # pre, post
    moment: str = ""  # final
    mode: str = ""  # of an interview: self, interviewer

    def __str__(self) -> str:
        return self.key

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Step":
        return cls(**values)


def plan_for(spec: StudySpec, track: str) -> tuple[Step, ...]:
    """Return the steps of a person of this track, with one `chats` step where `expand` will put the conversations."""
    steps = [Step("language", "language")] if len(spec.languages) > 1 else []
    for step in steps_for(spec, track):
        steps += _steps_of(step, spec)
    if spec.selection == MANUAL:
        steps = list(_with_selection(steps))
    if not any(step.kind == "debrief" for step in steps):
        steps.append(Step("debrief", "debrief"))
    return tuple(_number_keys(steps))


def steps_for(spec: StudySpec, track: str) -> list[StepSpec]:
    """Return the steps of a track in the study file. Reviewers without any have the usual work of second raters."""
    named = [step for step in spec.steps if step.is_for(track)]
    return named or (list(REVIEWER_STEPS) if track == "reviewer" else [])


def expand(plan: Iterable[Step], spec: StudySpec, order: Sequence[str], *, track: str) -> tuple[Step, ...]:
    """Return the plan with the runs of `order` in the place of its `chats` step; only how many there are enters the
    plan."""
    chat = spec.chat.for_track(track)
    return tuple(
        expanded for step in plan for expanded in (_runs(chat, len(order)) if step.kind == "chats" else [step])
    )


def _steps_of(step: StepSpec, spec: StudySpec) -> list[Step]:
    if step.kind == "questionnaire" and step.instrument == SCREENING:
        return [Step("screening", "screening", SCREENING)]
    if step.kind == "questionnaire":
        return [Step("questionnaire", f"questionnaire.{step.instrument}", step.instrument)]
    if step.kind == "blinding":
        return [Step("blinding", "blinding", step.instrument, moment="final")]
    if step.kind == "interview":
        return [Step("interview", "interview", step.instrument, mode=step.mode)]
    if step.kind == "consent" and spec.consent:
        return [Step("consent", "consent", spec.consent.instrument)]
    return [Step(step.kind, step.kind, step.instrument)]


def _with_selection(steps: Sequence[Step]) -> Iterator[Step]:
    """Return the steps with the selection after the screening and the questionnaires that follow it at once."""
    kinds = [step.kind for step in steps]
    here = kinds.index("screening") + 1 if "screening" in kinds else None
    while here is not None and here < len(steps) and steps[here].kind == "questionnaire":
        here += 1
    yield from steps[:here]
    if here is not None:
        yield Step("selection", "selection")
        yield from steps[here:]


def _number_keys(steps: Iterable[Step]) -> Iterator[Step]:
    """Return the steps with unique keys: the second questionnaire of an instrument is `….2`."""
    seen: Counter[str] = Counter()
    for step in steps:
        seen[step.key] += 1
        yield step if seen[step.key] == 1 else replace(step, key=f"{step.key}.{seen[step.key]}")


def _runs(chat: ChatSpec, count: int) -> Iterator[Step]:
    for run in range(1, count + 1):
        yield from _emotion(chat.emotion_instrument, run, "pre")
        yield Step("chat", f"run{run}.chat", run=run)
        for instrument in chat.final_instruments:
            yield Step("rating", f"run{run}.rating.{instrument}", instrument, run=run, moment="final")
        yield from _emotion(chat.de_roling_instrument or chat.emotion_instrument, run, "post")
        if run < count:
            yield Step("between", f"run{run}.between", TOPIC_QUESTIONS.get(chat.topic, ""), run=run)


def _emotion(instrument: str, run: int, phase: str) -> Iterator[Step]:
    if instrument:
        yield Step("questionnaire", f"run{run}.questionnaire.{instrument}.{phase}", instrument, run=run, phase=phase)
