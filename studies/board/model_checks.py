"""The part of the Design page that asks each model one question, and shows which ones answer."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_POST

from dialogue.providers.prices import format_amount, load_prices
from studies.models import Protocol, Study, Task
from studies.setup.model_checks import candidates, estimate_checks
from studies.workbench.access import study_page
from studies.workbench.asking_first import start_work
from studies.workbench.model_check_words import count_answers, describe_check
from studies.workbench.recent_tasks import recent_tasks

COMMAND = "check_models"


@require_POST
@study_page
def check_models(request: HttpRequest, study: Study) -> HttpResponse:
    """Start asking, in a process of its own. What it costs stands beside the button."""
    return start_work(request, study, COMMAND, [], back="research-design")


def checks_of_models(study: Study, protocol: Protocol) -> dict[str, Any]:
    """Return the estimate of one more check, the latest task, and the newest outcome."""
    spec, prices = protocol.spec(), load_prices(settings.PRICES)
    models = candidates(spec)
    expected = estimate_checks(models, spec.languages[0], prices)
    recent = recent_tasks(study, COMMAND)
    return {
        **recent,
        "tasks": recent["tasks"][:1],
        "models_to_ask": len(models),
        "check_estimate": expected,
        "check_cost": f"{format_amount(expected.cost)} {expected.currency}".strip(),
        "last_check": last_check(study),
    }


def last_check(study: Study) -> dict[str, Any] | None:
    """Return the newest outcome; None if no model has been asked."""
    newest = next((task for task in study.tasks.filter(command=COMMAND) if task.outcome), None)
    return outcome_in_words(newest) if newest else None


def outcome_in_words(task: Task) -> dict[str, Any]:
    outcome = task.outcome
    return {
        "ended_at": task.ended_at,
        "version": outcome["version"],
        "answers": count_answers(outcome["models"]),
        "rows": [describe_check(check, outcome["currency"]) for check in outcome["models"]],
    }
