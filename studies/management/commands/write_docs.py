from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from studies.access.roles_page import build_roles_page
from studies.data.exports.columns_page import build_columns_page
from studies.design.reference import reference

PAGES = {"columns.md": build_columns_page, "study_file.md": reference, "roles.md": build_roles_page}


class Command(BaseCommand):
    help = "Writes the pages of docs/ that are made from the code. `make docs` calls it."
    requires_system_checks = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        for name, build in PAGES.items():
            path = settings.BASE_DIR / "docs" / name
            path.write_text(build(), encoding="utf-8")
            self.stdout.write(f"{path.relative_to(settings.BASE_DIR)}: written")
