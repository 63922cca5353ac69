"""An import by its command, and the tables that it reads."""

import csv
import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Model


class Importing:
    """By one command with these options, which makes rows of these models."""

    def __init__(self, command: str, *models: type[Model], options: Sequence[str] = ()) -> None:
        self.command, self.models, self.options = command, models, options

    def run(self, path: Path, study: str = "demo") -> dict[str, Any]:
        stdout = StringIO()
        call_command(self.command, study, str(path), "--json", *self.options, verbosity=0, stdout=stdout)
        return json.loads(stdout.getvalue().splitlines()[-1])

    def faults(self, path: Path) -> list[str]:
        """What an import is refused for, without the file's name. Nothing must have been changed."""
        before = self.counted()
        with pytest.raises(CommandError) as refused:
            self.run(path)
        assert refused.value.returncode == 2
        assert self.counted() == before
        return [line.removeprefix(f"{path}:") for line in str(refused.value).splitlines()]

    def counted(self) -> list[int]:
        return [model.objects.count() for model in self.models]


def table(folder: Path, *rows: dict[str, str]) -> Path:
    """A CSV file with the columns of all rows; what a row has not is empty."""
    path = folder / "table.csv"
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path
