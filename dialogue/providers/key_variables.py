"""The environment variables that a design may name as a key, and so have sent to a server of its choice."""

import os
from collections.abc import Mapping

# emostudy's own secrets never, nor those that its libraries read: the database's password, the first account's.
OWN_VARIABLES = (
    *("SECRET_KEY", "CONTACT_KEY", "DATABASE_URL", "REDIS_URL", "CELERY_BROKER_URL", "EMAIL_URL", "METRICS_TOKEN"),
    *("PGPASSWORD", "DJANGO_SUPERUSER_PASSWORD"),
)
LIST = "MODEL_KEYS"  # where it is set, no others than these, separated by commas


def is_own(variable: str) -> bool:
    return variable.removesuffix("_FILE") in OWN_VARIABLES


def is_listed(variable: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the admin of the server lists the variable, or has made no list."""
    names = [name.strip() for name in environ.get(LIST, "").split(",") if name.strip()]
    return not names or variable in names
