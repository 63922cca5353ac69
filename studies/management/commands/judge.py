import json
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from dialogue.deidentification.redaction import MARK
from dialogue.jobs.estimate import DryCaller, Estimate, Typicals, discard_changes
from dialogue.judges import fields
from dialogue.judges.probes import PLAIN, VARIANTS
from dialogue.judges.roles import SEEKER
from dialogue.judges.schemas import RESPONSE_FORMAT
from dialogue.judges.strategies import get_strategies, get_strategy
from dialogue.providers.base import PARAMETERS
from dialogue.providers.registry import is_free
from studies.judging.estimate import judging_loads
from studies.judging.planning import (
    EVERY_TURN,
    KIND,
    MOMENTS,
    TURNS,
    Judgement,
    Work,
    get_plain_counterparts,
    get_rater,
    get_work,
    plan_judging,
    runs_to_judge,
)
from studies.judging.preview import Preview, build_preview, find_run, get_places_about
from studies.judging.settings import MOST_REPLICATES, Configuration, judge_settings
from studies.management.judging import JudgingCommand
from studies.models import ArmRun, Study
from studies.simulation.choice import Unfit, get_judge


class Command(JudgingCommand):
    help = (
        "Lets a judge answer the rating instruments about every closed conversation of a study, test data too. "
        "What it has answered is not asked again, and what was paid for is not paid for again."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument(
            "--judge",
            required=True,
            metavar="KEY",
            help="a judge of the study file. It rates in the role that stands there: as the seeker, as an outside "
            "evaluator, or by the third-person rubric (see docs/judges.md)",
        )
        parser.add_argument("--strategy", required=True, choices=get_strategies())
        parser.add_argument(
            "--moments",
            nargs="+",
            type=read_moment,
            default=["final"],
            metavar="MOMENT",
            help="final (the default); checkpoint: the study's checkpoint questions, where people were asked them; "
            "every-turn or turns:5,10,15: the final questions, about the conversation up to that turn",
        )
        parser.add_argument(
            "--replicates",
            type=int,
            default=1,
            metavar="K",
            help=f"answers to each questionnaire (default: 1, at most {MOST_REPLICATES})",
        )
        variants = parser.add_mutually_exclusive_group()
        variants.add_argument(
            "--variant",
            choices=VARIANTS,
            default=PLAIN,
            help="ask in another way, as a rater of its own called KEY~VARIANT, after the judge as it is: each "
            "dimension in a call of its own (apart), or a probe of the judge's bias (see docs/judges.md)",
        )
        variants.add_argument(
            "--without",
            default="",
            metavar="FIELD",
            help="leave one field out of what the judge is told of the seeker, as a rater of its own called "
            f"KEY~{fields.get_variant_without('FIELD')}, after the judge as it is: {fields_by_strategy()}",
        )
        parser.add_argument(
            "--preview", metavar="CONVERSATION", help="print the prompts about this conversation; asks no model"
        )
        parser.add_argument(
            "--batch", action="store_true", help="first ask in batches, at the provider's lower price, within a day"
        )
        self.add_job_arguments(parser)
        self.add_limit_argument(parser)

    def work(self, *, study: str, judge: str, strategy: str, **options: Any) -> dict[str, Any]:
        study_row = self.study(study)
        configuration = self.configuration(study_row, judge, strategy, self.variant(strategy, **options))
        self.refuse_below_one(options, "replicates", "concurrency", "limit")
        self.refuse_above(options, replicates=MOST_REPLICATES)
        if options["preview"]:
            return self.print_preview(
                configuration, self.conversation(study_row, options["preview"]), options["moments"]
            )
        self.refuse_changed(study_row, configuration.judge)
        settings = judge_settings(configuration.judge)
        if options["batch"] and settings.kind != "openai_compatible":
            self.refuse("--batch: a scripted judge has no provider that takes batches.")
        if options["batch"] and is_free(settings.kind):
            self.refuse("--batch: nothing is sent to a provider while REPLAY names a file of recorded answers.")
        work = get_work(get_rater(study_row, configuration), configuration.judge, **place_options(options))
        limited = with_plain(study_row, configuration, work.judgements[: options["limit"]], place_options(options))
        if options["estimate"]:
            return self.say_estimate(estimate_judging(study_row, configuration, limited, batch=options["batch"]))
        planned = plan_judging(
            study_row,
            configuration,
            limited,
            batch=options["batch"],
            **self.job_options(options, {f"judge {judge}": settings}),
        )
        if options["background"]:
            self.say_planned(planned)
        else:
            self.work_on(planned.job, f"judge {configuration.rater} ({strategy})", at_once=options["concurrency"])
        summary = self.report_judgements(planned, work, configuration.judge, judgements=len(limited))
        if work.not_varied:
            self.say(f"{work.not_varied} not judged: there is nothing in them that {configuration.variant} could vary.")
        if work == Work():
            self.say(nothing_to_judge(study_row, options["moments"]))
        return {"judge": judge, "strategy": strategy, **summary, **self.of_variant(configuration, work)}

    def variant(self, strategy: str, *, variant: str, without: str, **_options: Any) -> str:
        if not without:
            return variant
        names = get_strategy(strategy).fields
        if without in names:
            return fields.get_variant_without(without)
        listing = ", ".join(names) or "nothing"
        self.refuse(f"--without: a {strategy} judge is not told {without!r}. What can be left out: {listing}.")

    def of_variant(self, configuration: Configuration, work: Work) -> dict[str, Any]:
        return {"variant": configuration.variant, "not_varied": work.not_varied} if configuration.variant else {}

    def print_preview(self, configuration: Configuration, run: ArmRun, moments: Sequence[str]) -> dict[str, Any]:
        previews = [build_preview(configuration, run, place) for place in get_places_about(run, moments)]
        for one in previews:
            for line in preview_lines(one):
                self.say(line)
        named = {"judge": configuration.judge.key, "strategy": configuration.strategy, "variant": configuration.variant}
        return {**named, "previews": [as_summary(one) for one in previews]}

    def conversation(self, study: Study, code: str) -> ArmRun:
        if run := find_run(study, code):
            return run
        self.refuse(f"The study {study.key} has no conversation {code!r}.")

    def configuration(self, study: Study, judge: str, strategy: str, variant: str) -> Configuration:
        try:
            spec = study.current().spec()
            return Configuration.of(spec, get_judge(spec, judge), strategy, variant)
        except Unfit as error:
            self.refuse(str(error))


def estimate_judging(
    study: Study, configuration: Configuration, judgements: Sequence[Judgement], *, batch: bool
) -> Estimate:
    with discard_changes():
        planned = plan_judging(study, configuration, judgements, batch=batch)
        caller = DryCaller(Typicals.read())
        loads = judging_loads(planned.job, caller)
        left = planned.job.items.unfinished().filter(role=KIND).count()
    return Estimate(judgements=left, loads=loads, lengths=caller.lengths)


def with_plain(
    study: Study, configuration: Configuration, judgements: Sequence[Judgement], places: dict[str, Any]
) -> list[Judgement]:
    """Return the judgements with the plain ones before them that a variant is compared with."""
    if not configuration.variant:
        return list(judgements)
    plain = get_work(get_rater(study, configuration.with_variant(PLAIN)), configuration.judge, **places)
    return [*get_plain_counterparts(get_rater(study, configuration), judgements, plain), *judgements]


def nothing_to_judge(study: Study, moments: Sequence[str]) -> str:
    """Return why there is nothing to judge, and what to do."""
    if runs_to_judge(study).exists():
        return f"Nothing to judge: no conversation has a rating of this moment ({', '.join(moments)}); see --moments."
    return (
        "Nothing to judge: no conversation that is closed has a reply. Let simulated seekers talk (simulate), bring "
        "conversations in (import_conversations), or wait for people's."
    )


def read_moment(text: str) -> str:
    """Return a moment as it is given. Raises ArgumentTypeError."""
    turns = text.removeprefix(TURNS).split(",") if text.startswith(TURNS) else []
    if text in (*MOMENTS, EVERY_TURN) or (turns and all(turn.isdecimal() and 0 < int(turn) < 10**6 for turn in turns)):
        return text
    raise ArgumentTypeError(f"{text!r} is not one of final, checkpoint, every-turn and turns:5,10 (with turns from 1)")


def place_options(options: dict[str, Any]) -> dict[str, Any]:
    return {"moments": options["moments"], "replicates": options["replicates"]}


def preview_lines(preview: Preview) -> Iterator[str]:
    """Yield the lines of a preview: each prompt with its receiver, and the reasons why it would not be sent."""
    everything = preview.parameters()
    parameters = ", ".join(f"{name} {everything[name]}" for name in PARAMETERS)
    for prompt in preview.prompts:
        yield f"# {preview.place.name()}: {prompt.version} to {preview.receiver()} ({parameters})"
        if preview.configuration.role != SEEKER:
            yield f"# It rates {preview.configuration.role.label}."
        yield from (f"# It would not be sent. {obstacle}" for obstacle in preview.obstacles)
        if preview.unthought:
            yield f"# {preview.unthought} turns have no inner state yet: the judge's Thinker would be asked first."
        if prompt.redacted:
            yield f"# Taken out: {', '.join(f'{count} {kind}' for kind, count in prompt.redacted.items())}."
        for message in prompt.messages:
            yield f"## {message.role}"
            yield message.text
        if prompt.form:
            yield f"## {RESPONSE_FORMAT}"
            yield json.dumps(prompt.form, ensure_ascii=False, indent=1)


def fields_by_strategy() -> str:
    return "; ".join(f"of {one.name} {', '.join(one.fields)}" for one in get_strategies().values() if one.fields)


def as_summary(preview: Preview) -> dict[str, Any]:
    return {
        **preview.place._asdict(),
        "role": preview.configuration.role.code,
        "receiver": preview.receiver(),
        "parameters": preview.parameters(),
        "obstacles": list(preview.obstacles),
        "unthought": preview.unthought,
        "prompts": [
            {
                "version": prompt.version,
                "messages": [asdict(message) for message in prompt.messages],
                RESPONSE_FORMAT: prompt.form,
                MARK: dict(prompt.redacted),
            }
            for prompt in preview.prompts
        ],
    }
