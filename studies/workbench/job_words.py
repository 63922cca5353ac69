"""Say why work on jobs failed or ended before its items were done, and what to do."""

from django.utils.translation import gettext_lazy

from dialogue.jobs.reasons import Reason
from dialogue.jobs.runner import OF_SERVER
from dialogue.models import Job
from dialogue.templatetags.languages import active_language, colon
from studies.workbench import labels
from studies.workbench.model_check_words import advice_on

CALLS: labels.Words = {
    **labels.CALLS,
    "broken": gettext_lazy("an error in emostudy; see its log"),
    "needed": gettext_lazy("a task that it depends on failed"),
}
TRANSPORT = (*OF_SERVER, "empty")  # the advice on these fits any question
REASONS: labels.Words = {
    "person": gettext_lazy("Stopped by %(name)s."),
    "signal": gettext_lazy("Stopped by hand. Run the same command again to continue."),
    "useless_answers": gettext_lazy(
        "Stopped: the last %(number)s answers had no readable score. Read them before you go on."
    ),
    "job_budget": gettext_lazy("Budget reached: less is left than the next call may cost."),
    "day_budget": gettext_lazy("Budget of the day reached: less is left than the next call may cost."),
    "no_price": gettext_lazy(
        "Stopped: %(model)s has no price in %(file)s, so that no budget can be kept. Enter its price there."
    ),
    "failures": gettext_lazy("Stopped after failures in a row: %(why)s"),
    "no_worker": gettext_lazy(
        "Stopped: no Celery worker has taken anything from the queue %(queue)s for %(seconds)s s. Start one "
        "(celery -A emostudy.celery worker --pool threads), and start the work again."
    ),
    "unfit_workers": gettext_lazy(
        "Stopped: no Celery worker can do this. %(detail)s Put that right where the workers run, start them again, and "
        "then the work."
    ),
    "batch_not_begun": gettext_lazy("Stopped: no batch could be begun. %(detail)s"),
    "batch_refused": gettext_lazy("Stopped: the provider refused batch %(number)s. %(detail)s"),
    "batch_broke": gettext_lazy("Stopped: batch %(number)s could not be looked after. %(detail)s"),
}


def describe_stop(job: Job) -> str:
    """Say why a job was ended before its items were done; empty where it was not."""
    if not job.reason:
        return ""
    reason = Reason.from_json(job.reason)
    values = dict(reason.values)
    if reason.code == "failures":
        status, detail = str(values["status"]), str(values["detail"])
        told = join_sentences(labels.word(CALLS, status), explain_failure(status, detail))
        values["why"] = f"{values['model']}{colon()}{told}" if values["model"] else told
    return labels.word(REASONS, reason.code) % values


def explain_failure(status: str, detail: str, variable: str = "") -> str:
    """Return what the server said, and what to do.

    `variable`: that of the key, where one model was asked.
    """
    check = {"answers": False, "status": status, "detail": detail, "text": "", "variable": variable}
    return join_sentences(detail, advice_on(check) if status in TRANSPORT else "")


def join_sentences(*sentences: str) -> str:
    """Join sentences as the page's language does, each with its full stop."""
    stop, space = (".", " ") if active_language().spaces else ("。", "")
    ended = [one if one.endswith((".", "。", "?", "？", "!")) else f"{one}{stop}" for one in sentences if one]
    return space.join(ended)
