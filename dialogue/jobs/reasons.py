"""Why a job ended before its items were done. Pages and commands put it into words."""

from typing import ClassVar

from dialogue.coded import Coded


class Reason(Coded):
    VALUES: ClassVar = {
        "person": ("name",),
        "signal": (),
        "useless_answers": ("number",),
        "job_budget": (),
        "day_budget": (),
        "no_price": ("model", "file"),
        "failures": ("model", "status", "detail"),  # `model` is empty for a fault of our own
        "no_worker": ("queue", "seconds"),
        "unfit_workers": ("detail",),
        "batch_not_begun": ("detail",),
        "batch_refused": ("number", "detail"),
        "batch_broke": ("number", "detail"),
    }
