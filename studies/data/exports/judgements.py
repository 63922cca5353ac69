"""The questions to judges and their answers, as one JSON object for each judged conversation.

The form is that of the samples in inspect_ai's logs (`EvalSample`: id, epoch, input, target, output, scores, metadata).
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import fmean
from typing import Any

from django.db.models import QuerySet

from dialogue.deidentification.redaction import MARK
from dialogue.jobs.calls import ANSWERED
from dialogue.judges.parsing import find_explanation
from dialogue.judges.probes import SIGN, variant_of
from dialogue.judges.prompts import JudgedTurn, items_of_form, transcript
from dialogue.models import Call, JobItem
from studies.data.exports.columns import Filter, conversation_of, get_rated_turn, participant_of
from studies.judging.material import get_turns
from studies.judging.planning import KIND, get_subject
from studies.models import Answer, ArmRun, Response, Study
from studies.models.response import RaterKind
from studies.participation.responses import answers_to_instructed_items

AT_ONCE = 100  # judgements whose rows are read together
NO_PEOPLE = (RaterKind.JUDGE, RaterKind.SIMULATED_SEEKER)
ROLE_OF_ANSWER = "assistant"
USAGE = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "input_tokens_cache_read": "cached_tokens",
    "reasoning_tokens": "reasoning_tokens",
}  # inspect_ai's names, and ours

Place = tuple[int, str, str, int]  # run, instrument, moment, turn
Sample = dict[str, Any]


def get_judged_responses(study: Study, only: Filter) -> QuerySet[Response]:
    """Return the answers of judges, each of one judge to one questionnaire about one conversation."""
    responses = only.responses(study).filter(rater__kind=RaterKind.JUDGE, run__in=only.runs(study), is_rating=True)
    rows = responses.select_related("rater", "run__conversation").annotate(turn_rated=get_rated_turn())
    return rows.order_by("run", "pk")


def build_samples(study: Study, only: Filter) -> Iterator[Sample]:
    """Yield samples in the order of the conversations. A few at a time are in memory."""
    numbers = list(get_judged_responses(study, only).values_list("pk", flat=True))
    for start in range(0, len(numbers), AT_ONCE):
        some = list(get_judged_responses(study, only).filter(pk__in=numbers[start : start + AT_ONCE]))
        around = ResponseFacts.of(study, only, some)
        yield from (build_sample(response, around) for response in some)


@dataclass(frozen=True)
class ResponseFacts:
    """The facts that are known of some responses.

    `study`: its key; `names`: id and person of each run, as in every exported file; `people`: their mean scores, by
    place, item and kind of rater; `calls`: the answered calls behind a response, in their order.
    """

    study: str
    names: Mapping[int, tuple[str, str]]
    turns: Mapping[int, Sequence[JudgedTurn]]
    people: Mapping[Place, Mapping[str, Mapping[str, float]]]
    answers: Mapping[int, Sequence[Answer]]
    calls: Mapping[int, Sequence[Call]]

    @classmethod
    def of(cls, study: Study, only: Filter, responses: Sequence[Response]) -> "ResponseFacts":
        runs = [response.run for response in responses]
        rows = only.runs(study).filter(pk__in=[run.pk for run in runs])
        names = {pk: codes for pk, *codes in rows.values_list("pk", conversation_of(), participant_of())}
        answers: dict[int, list[Answer]] = defaultdict(list)
        for answer in Answer.objects.filter(response__in=responses).order_by("pk"):
            answers[answer.response_id].append(answer)
        return cls(
            study.key,
            names,
            get_turns(runs),
            get_people_scores(study, only, runs),
            answers,
            get_calls_behind(responses),
        )


def get_people_scores(study: Study, only: Filter, runs: Sequence[ArmRun]) -> Mapping[Place, Any]:
    answers = only.answers(study).filter(
        ~answers_to_instructed_items(), response__run__in=runs, response__is_rating=True, value__isnull=False
    )
    scores: dict[Place, dict[str, dict[str, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for *place, item, kind, value in answers.exclude(response__rater__kind__in=NO_PEOPLE).values_list(
        "response__run", "response__instrument", "response__moment", "response__turn", "item", "response__rater__kind",
        "value",
    ):  # fmt: skip
        scores[tuple(place)][item][kind].append(value)
    return {
        place: {item: {kind: fmean(values) for kind, values in kinds.items()} for item, kinds in of_place.items()}
        for place, of_place in scores.items()
    }


def get_calls_behind(responses: Sequence[Response]) -> Mapping[int, Sequence[Call]]:
    """Return the answered calls behind each response, by response.

    There are none where it was imported, or where the answer was in the ledger already, as for the second of two
    conversations that are word for word the same.
    """
    pks = {
        (get_subject(one.run_id, one.instrument, one.moment, one.turn), one.rater_id, one.replicate): one.pk
        for one in responses
    }
    items = JobItem.objects.filter(role=KIND, subject__in={subject for subject, *_ in pks}, state="done")
    calls: dict[int, list[Call]] = defaultdict(list)
    for call in Call.objects.filter(item__in=items, status__in=ANSWERED).select_related("item").order_by("pk"):
        rater, _, _ = call.item.configuration.partition("-")
        place = (call.item.subject, int(rater), call.item.replicate)
        if place in pks:
            calls[pks[place]].append(call)
    return calls


def build_sample(response: Response, around: ResponseFacts) -> Sample:
    calls, answers = around.calls.get(response.pk, ()), around.answers.get(response.pk, ())
    questions = get_questions(calls)
    place = (response.run_id, response.instrument, response.moment, response.turn)
    judge, _, _ = response.rater.code.partition(SIGN)
    conversation, _ = around.names[response.run_id]
    parts = (conversation, *place[1:], response.rater.code, response.rater.strategy, response.replicate)
    return {
        "id": "/".join(map(str, parts)),
        "epoch": response.replicate,
        "input": messages_of(questions[0].first) if questions else [],
        "target": json.dumps(people) if (people := around.people.get(place)) else "",
        "output": build_output(questions) if questions else {},
        "scores": build_scores(answers, questions),
        "metadata": {
            **describe_response(response, around),
            "judge": judge,
            "variant": variant_of(response.rater.code),
            "strategy": response.rater.strategy,
            "role": response.role,
            "replicate": response.replicate,
            "missing": {answer.item: answer.missing_reason for answer in answers if answer.value is None},
            **sum_usage(calls),
            "as_shown": is_as_shown(response, around, questions[0].first) if questions else None,
        },
    }


@dataclass(frozen=True)
class AskedQuestion:
    """A question about some items: `first`, the call that put it, and `last`, the one that was answered last."""

    items: tuple[str, ...]
    first: Call
    last: Call


def get_questions(calls: Iterable[Call]) -> list[AskedQuestion]:
    """Return the questions that calls asked: one, or one for each item if they were asked apart.

    Repairs have the form of their question.
    """
    questions: dict[tuple[str, ...], AskedQuestion] = {}
    for call in calls:
        items = items_of_form(message["text"] for message in call.request)
        questions[items] = AskedQuestion(items, questions[items].first if items in questions else call, call)
    return list(questions.values())


def messages_of(call: Call) -> list[dict[str, str]]:
    return [{"role": message["role"], "content": message["text"]} for message in call.request]


def build_output(questions: Sequence[AskedQuestion]) -> dict[str, Any]:
    """Return inspect_ai's output. `completion` is the first choice; there is a choice for each question."""
    calls = [one.last for one in questions]
    usage = {name: add_up(getattr(call, field) for call in calls) for name, field in USAGE.items()}
    milliseconds = add_up(call.total_ms for call in calls)
    return {
        "model": calls[0].model_returned or calls[0].model,
        "completion": calls[0].response,
        "choices": [choice(call) for call in calls],
        "usage": {name: tokens for name, tokens in usage.items() if tokens is not None},
        "time": None if milliseconds is None else milliseconds / 1000,
    }


def choice(call: Call) -> dict[str, Any]:
    message = {"role": ROLE_OF_ANSWER, "content": call.response}
    return {"message": message, "stop_reason": "max_tokens" if call.status == "truncated" else "stop"}


def build_scores(answers: Iterable[Answer], questions: Sequence[AskedQuestion]) -> dict[str, Any]:
    """Return, for each item that has one, the score and what the judge said of it."""
    explanations = {item: find_explanation(one.last.response) for one in questions for item in one.items}
    return {
        answer.item: {
            "value": answer.value,
            "explanation": explanations.get(answer.item, ""),
        }
        for answer in answers
        if answer.value is not None
    }


def describe_response(response: Response, around: ResponseFacts) -> dict[str, Any]:
    run = response.run
    conversation, participant = around.names[run.pk]
    return {
        "study": around.study,
        "conversation": conversation,
        "participant": participant or "",
        "arm": run.arm,
        "arm_model": run.model,
        "condition": run.condition,
        "seeker_kind": run.conversation.seeker_kind,
        "language": run.conversation.language,
        "valid": run.valid,
        "is_test": run.is_test,
        "instrument": response.instrument,
        "instrument_version": response.version,
        "moment": response.moment,
        "turn": response.turn_rated,
    }


def sum_usage(calls: Sequence[Call]) -> dict[str, Any]:
    """Return the model, tokens, time and cost of all calls behind the answer, with repairs and repeated ones."""
    first = calls[0] if calls else Call()
    return {
        "model": first.model,
        "model_returned": first.model_returned,
        "provider": first.provider,
        "prompt_version": first.prompt_version,
        "parameters": {name: value for name, value in first.parameters.items() if name != MARK},
        MARK: first.parameters.get(MARK, {}),
        "calls": [{"call": call.pk, "status": call.status, "prompt_version": call.prompt_version} for call in calls],
        **{name: add_up(getattr(call, name) for call in calls) for name in USAGE.values()},
        "cost": as_number(add_up(call.cost for call in calls)),
        "prices": first.prices,
    }


def add_up(values: Iterable[Any]) -> Any:
    """Return the sum; None if one value is not known, or there is none."""
    numbers = list(values)
    return sum(numbers) if numbers and None not in numbers else None


def as_number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def is_as_shown(response: Response, around: ResponseFacts, call: Call) -> bool:
    """Return whether the judge was shown these turns word for word as they were on people's screens, but for line
    breaks.
    """
    first, last = response.first_turn or 0, response.last_turn or 0
    turns = [turn for turn in around.turns[response.run.conversation_id] if first <= turn.number <= last]
    return "\n".join(transcript(turns)) in call.request[-1]["text"]
