"""JSON in which the order of keys means something."""

import json
from typing import Any

from django.db import models


class OrderedJSONField(models.JSONField):
    """Kept as text: PostgreSQL's own type sorts keys by their length, and a profile whose lines are in another order is
    another prompt."""

    def db_type(self, connection: Any) -> str:
        return "text"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> str:
        return json.dumps(value, ensure_ascii=False)
