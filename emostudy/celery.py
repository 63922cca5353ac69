"""Jobs on several machines: `celery -A emostudy.celery worker --pool threads`. See docs/jobs.md."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
django.setup(set_prefix=False)  # before anything that imports models

from dialogue.jobs.broker import app  # noqa: E402

__all__ = ["app"]
