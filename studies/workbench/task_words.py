"""Describe tasks and their outcomes in words, so that pages show no command-line arguments."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from dialogue.jobs.store import sum_reserved
from dialogue.judges.strategies import get_strategies
from dialogue.models import Call, Job, JobItem
from dialogue.providers.prices import format_amount, load_prices
from dialogue.providers.retrying import PASSING
from dialogue.templatetags.languages import active_language, colon, listed
from studies.models import Participation, Task
from studies.workbench import labels
from studies.workbench.job_words import CALLS, describe_stop, explain_failure, join_sentences
from studies.workbench.model_check_words import count_answers
from studies.workbench.paid_work import PAIRS
from studies.workbench.probe_words import FIELD_WORDS, ORDER_SWAP, WORDS


def strategy_label(name: str) -> str:
    """Return the label of a strategy, or of pairs; empty for any other word."""
    if name == PAIRS:
        return str(WORDS[ORDER_SWAP][0])
    strategy = get_strategies().get(name)
    return _(strategy.label) if strategy else ""


def command_name(command: str) -> str:
    names = {
        "export": _("Export"),
        "judge": _("Judge"),
        "analyse": _("Analysis"),
        "benchmark": _("Benchmark"),
        "build_profiles": _("Profiles written by a model"),
        "plan": _("Precision"),
        "check_models": _("Question to each model"),
        "run_bots": _("Rehearsal by bots"),
    }
    return names[command]


def describe_work(command: str, arguments: Sequence[str]) -> str:
    """Describe the options of a task; empty if it has none."""
    describe = DESCRIPTIONS.get(command)
    return active_language().semicolon.join(describe(arguments)) if describe else ""


def describe_judge(arguments: Sequence[str]) -> list[str]:
    options = options_in(arguments)
    strategies = [label for word in arguments if (label := strategy_label(word))]
    parts = [f"{arguments[0]}{colon()}{listed(strategies)}"] if strategies else []
    if variant := options.get("--variant"):
        parts.append(str(WORDS[variant[0]][0]))
    if without := options.get("--without"):
        parts.append(_("without: %(field)s") % {"field": FIELD_WORDS[without[0]][0]})
    if replicates := options.get("--replicates"):
        parts.append(_("%(number)s answers to each question") % {"number": replicates[0]})
    return parts + describe_budget(options)


def describe_budget(options: Mapping[str, Sequence[str]]) -> list[str]:
    budget = options.get("--budget")
    return [_("budget: %(amount)s") % {"amount": format_amount(Decimal(budget[0]))}] if budget else []


def describe_benchmark(arguments: Sequence[str]) -> list[str]:
    options = options_in(arguments)
    parts = []
    if arms := options.get("--arms"):
        parts.append(_("arms: %(names)s") % {"names": arms[0].replace(",", ", ")})
    if conditions := options.get("--conditions"):
        parts.append(listed(labels.word(labels.CONDITIONS, condition) for condition in conditions))
    if judges := options.get("--judge"):
        strategies = listed(map(strategy_label, options.get("--strategy", [])))
        parts.append(_("judges: %(names)s (%(shown)s)") % {"names": listed(judges), "shown": strategies})
    return parts + describe_budget(options)


def describe_data(arguments: Sequence[str]) -> list[str]:
    return [_("with test data") if "--include-tests" in arguments else _("without test data")]


def describe_profiles(arguments: Sequence[str]) -> list[str]:
    options = options_in(arguments)
    if "--expand" not in options:
        return [_("from answers"), *describe_data(arguments)]
    parts = [_("after the approved profiles"), _("%(number)s in all") % {"number": options["--count"][0]}]
    if seed := options.get("--seed"):
        parts.append(_("seed %(number)s") % {"number": seed[0]})
    return parts + options.get("--language", [])


def describe_bots(arguments: Sequence[str]) -> list[str]:
    options = options_in(arguments)
    track = Participation.Track(options["--track"][0]).label
    number = int(options["--count"][0])
    return [ngettext("%(number)s bot", "%(number)s bots", number) % {"number": number}, str(track)]


DESCRIPTIONS = {
    "judge": describe_judge,
    "benchmark": describe_benchmark,
    "build_profiles": describe_profiles,
    "run_bots": describe_bots,
    "export": describe_data,
    "analyse": describe_data,
}


def options_in(words: Sequence[str]) -> dict[str, list[str]]:
    """Return values by option, from `--name=value` and `--name value value`."""
    options: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, _equals, value = word.partition("=")
            options[name] = [value] if value else []
        elif name:
            options[name].append(word)
    return options


def describe_outcome(outcome: Mapping[str, Any]) -> list[str]:
    """Describe counts and cost of work that asked models; empty for other work, and until something has ended."""
    if not outcome:
        return []
    if "models" in outcome:
        return [count_answers(outcome["models"])]
    if "completed" in outcome:
        return [_("%(number)s came to the end") % {"number": outcome["completed"]}]
    parts = [_("%(number)s done") % {"number": outcome["done"]}]
    if unscored := outcome.get("unscored"):  # missing in older outcomes
        parts.append(_("%(number)s of them without a readable score") % {"number": unscored})
    if outcome["before"]:
        parts.append(_("%(number)s already done") % {"number": outcome["before"]})
    if refused := outcome.get("refused"):  # missing in older outcomes
        parts.append(_("%(number)s of them refused and not stored") % {"number": refused})
    if outcome["failed"]:
        parts.append(_("%(number)s failed (%(reasons)s)") % {"number": outcome["failed"], "reasons": reasons(outcome)})
    if outcome["set_aside"]:
        parts.append(
            _("%(number)s of them set aside: too long, or failed in the same way three times")
            % {"number": outcome["set_aside"]}
        )
    if outcome["not_sent"]:
        number = outcome["not_sent"]
        parts.append(
            ngettext(
                "%(number)s not sent: the consent does not name the provider",
                "%(number)s not sent: the consents do not name the provider",
                number,
            )
            % {"number": number}
        )
    if outcome["left"]:
        parts.append(_("%(number)s left for next time") % {"number": outcome["left"]})
    return [*parts, describe_cost(outcome)]


def reasons(outcome: Mapping[str, Any]) -> str:
    return listed(f"{labels.word(CALLS, reason)} {number}" for reason, number in outcome["reasons"].items())


def describe_progress(task: Task) -> str:
    """Say how far paid work is and what it has cost so far."""
    parts = [_("%(done)s of %(all)s") % {"done": task.done, "all": task.total}] if task.total else []
    jobs = jobs_of(task)
    if Call.objects.filter(item__job__in=jobs, cost=None).exclude(status="started").exists():
        parts.append(_("cost unknown: the price table has no price"))
    elif jobs:
        currency = load_prices(settings.PRICES).currency
        reserved = sum(sum_reserved(job.pk for job in jobs).values(), Decimal(0))
        spent = sum((job.spent for job in jobs), Decimal(0)) - reserved
        parts.append(_("cost so far: %(amount)s") % {"amount": f"{format_amount(spent)} {currency}"})
        if reserved:
            amount = f"{format_amount(reserved)} {currency}"
            parts.append(_("set aside for calls in progress: %(amount)s at most") % {"amount": amount})
    return " · ".join([*parts, *describe_outages(jobs)])


def describe_outages(jobs: Sequence[Job]) -> list[str]:
    """Say which models have just not answered, and are asked again: that can take minutes in which nothing ends."""
    ended = Call.objects.exclude(status="started")
    later = ended.filter(item=OuterRef("item"), pk__gt=OuterRef("pk"))
    waiting = ended.filter(item__job__in=jobs, item__state=JobItem.State.WORKING, status__in=PASSING)
    outages = waiting.exclude(Exists(later)).values_list("model", "status").distinct().order_by("model", "status")
    return [
        _("%(model)s does not answer and is asked again (%(why)s)")
        % {"model": model, "why": labels.word(labels.CALLS, status)}
        for model, status in outages
    ]


def describe_end(task: Task) -> str:
    """Say why paid work ended before its end, what failed, and what to do about it."""
    ended = [job for job in jobs_of(task) if job.state in (Job.State.STOPPED, Job.State.BUDGET)]
    lines = [describe_stop(job) for job in ended]
    if task.stop_asked_by and not ended:
        lines.append(_("Stopped by %(name)s.") % {"name": task.stop_asked_by})
    for reason, number in task.outcome["reasons"].items():
        detail = task.outcome["details"].get(reason, "")
        words = join_sentences(labels.word(CALLS, reason), explain_failure(reason, detail, variable_of(task)))
        lines.append(_("%(number)s failed: %(why)s") % {"number": number, "why": words})
    if task.outcome["failed"] or task.outcome["left"]:
        lines.append(_("Start it again for the rest. What is done is not asked or paid for again."))
    return "\n".join(dict.fromkeys(lines))


def jobs_of(task: Task) -> list[Job]:
    """Return the jobs that a task has begun."""
    begun = Job.objects.filter(scope=task.study.key, created_at__gte=task.started_at)
    return list((begun.filter(created_at__lte=task.ended_at) if task.ended_at else begun).order_by("pk"))


def variable_of(task: Task) -> str:
    """Return the variable of the judge's key; empty where several models work, or the study has it no longer."""
    judges = task.study.current().spec().judges if task.command == "judge" else ()
    return next((judge.api_key_env for judge in judges if judge.key == task.arguments[0]), "")


def describe_cost(outcome: Mapping[str, Any]) -> str:
    if outcome["cost"] is None:
        return _("cost unknown: the price table has no price")
    amount = f"{format_amount(Decimal(outcome['cost']))} {outcome['currency']}".strip()
    return _("cost: %(amount)s") % {"amount": amount}
