"""No page, header or cookie that a person gets names the arm before the debrief."""

import pytest
from django.core.management import call_command
from django.test import Client

from tests.people import Person

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("on_commit_at_once")]

MARKERS = ("zzarm", "ZZTITLE", "ZZPROMPT", "scripted")


class Recorder(Client):
    """Keeps everything that was answered, head and body."""

    def request(self, **request):
        response = super().request(**request)
        heard = f"{dict(response.headers)} {response.cookies} {response.content.decode(errors='replace')}"
        self.heard = [*getattr(self, "heard", []), (request["PATH_INFO"], heard)]
        return response


@pytest.fixture
def marked(settings, tmp_path):
    text = (settings.FIXTURES / "studies" / "demo.toml").read_text(encoding="utf-8")
    head = text[: text.index("[[arms]]")]
    (tmp_path / "prompt.txt").write_text("ZZPROMPT be kind", encoding="utf-8")
    arms = "".join(
        f'[[arms]]\nkey = "zzarm{n}"\ntitle = "ZZTITLE {n}"\nkind = "scripted"\nmodel = "formula"\n'
        'prompt = "prompt.txt"\n'
        for n in range(3)
    )
    path = tmp_path / "demo.toml"
    path.write_text(head + arms, encoding="utf-8")
    call_command("load_study", str(path), verbosity=0)


@pytest.mark.parametrize("track", ["participant", "counsellor"])
def test_nothing_names_the_arm_before_the_debrief(marked, monkeypatch, track):
    monkeypatch.setattr("tests.people.Client", Recorder)
    person = Person(track=track)
    person.looks = True
    person.go_to("debrief")
    for path in ("/help/", "/pause/", "/leave/", "/metrics", "/healthz", "/no/such/page/"):
        person.client.get(path)
    found = [(path, marker) for path, heard in person.client.heard for marker in MARKERS if marker in heard]
    assert found == []
    assert "ZZTITLE" in person.page().content.decode()
    assert len(person.client.heard) > 50
