"""Make two equal walks on scripts leave the same files: random codes, times and durations get fixed values.

Only the database of a walk is ever changed so.
"""

import json
from datetime import UTC, datetime
from pathlib import Path

from django.apps import apps
from django.db import models

from dialogue.models import Call, Conversation, Turn
from studies.models import AuditEntry, Pair

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
TIMES = ("first_token_ms", "total_ms")


def steady_database() -> None:
    """Number codes, set every time to one moment, and every duration to 0: a script has no speed of its own."""
    for model, letter in ((Conversation, "c"), (Pair, "d")):
        for number, row in enumerate(model.objects.order_by("pk").values_list("pk", flat=True), 1):
            model.objects.filter(pk=row).update(code=f"{letter}{number:05}")
    for label in ("dialogue", "studies"):
        for table in apps.get_app_config(label).get_models():
            if table is not AuditEntry:  # refuses every change, and no file of a walk holds it
                steady_times(table)
    for timed in (Call, Turn):
        for name in TIMES:
            timed.objects.filter(**{f"{name}__isnull": False}).update(**{name: 0})


def steady_times(table: type[models.Model]) -> None:
    for field in table._meta.local_fields:
        if isinstance(field, models.DateTimeField):
            table._default_manager.filter(**{f"{field.name}__isnull": False}).update(**{field.name: MOMENT})


def steady_files(folder: Path) -> None:
    """Set the time in the files that say when they were written: the manifest of an export, the card of a data set."""
    for path in sorted(folder.glob("**/*.json")):
        node = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(node, dict) and "exported_at" in node:
            node["exported_at"] = f"{MOMENT:%Y-%m-%dT%H:%M:%SZ}"
            path.write_text(json.dumps(node, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
