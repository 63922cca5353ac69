"""Two people at one form: notice that what the page showed has been changed elsewhere since."""

import hashlib
import json
from typing import Any

from django.utils.translation import gettext as _

HASH_LENGTH = 12  # characters of a hash: enough to tell values of one field apart


def get_hash(value: Any) -> str:
    """Return a short hash of a value, which a form carries as `seen`."""
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:HASH_LENGTH]


def tell_changed() -> str:
    """Return the fault of a form that would overwrite what a colleague has saved."""
    return _(
        "A colleague has changed this since you opened the page. Nothing was saved, and what you typed is still here. "
        "Look at their text in another tab, and save again if yours is to replace it."
    )
