"""JSON whose keys keep their order."""

import json
from typing import Any

from django.db import models


class OrderedJSONField(models.JSONField):
    """A JSON field stored as text. PostgreSQL's own type sorts keys, and a profile in another order is
    another prompt."""

    def db_type(self, connection: Any) -> str:
        return "text"

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> str:
        return json.dumps(value, ensure_ascii=False)
