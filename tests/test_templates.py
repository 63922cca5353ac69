"""What templates ask for is there: Django shows nothing for a name that no view gives, and says nothing."""

import re
from collections import defaultdict
from pathlib import Path

import allauth
from django.conf import settings
from django.contrib import admin, auth
from django.template import base, engines

TEMPLATES = settings.BASE_DIR / "templates"
# A name as a view, a context processor or a tag gives it, and as a template does.
IN_CODE = re.compile(r"""["'](\w+)["']|\b(\w+)=""")
IN_TEMPLATE = re.compile(r"\bfor ([\w, ]+) in\b|\bas (\w+)\b|\b(\w+)=")
GIVEN_BY_DJANGO = {"forloop", "True", "False", "None", "block"}


def test_every_name_in_a_template_is_given_by_some_code(monkeypatch):
    asked = defaultdict(set)
    look = base.Variable.__init__

    def note(self, var):
        look(self, var)
        if self.lookups:
            asked[self.lookups[0]].add(place)

    monkeypatch.setattr(base.Variable, "__init__", note)
    given = set(GIVEN_BY_DJANGO)
    for path in sorted(TEMPLATES.rglob("*.html")):
        place, text = path.relative_to(TEMPLATES).as_posix(), path.read_text(encoding="utf-8")
        engines["django"].from_string(text)
        given |= set(re.findall(r"\w+", " ".join("".join(names) + " " for names in IN_TEMPLATE.findall(text))))
    ours = (settings.BASE_DIR / folder for folder in ("dialogue", "emostudy", "studies"))
    for folder in (*ours, *(Path(package.__file__).parent for package in (admin, auth, allauth))):
        for path in folder.rglob("*.py"):
            given |= {name for names in IN_CODE.findall(path.read_text(encoding="utf-8")) for name in names}
    assert len(asked) > 300
    assert {name: places for name, places in asked.items() if name not in given} == {}
