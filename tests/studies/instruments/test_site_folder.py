"""Instruments that were made on this site: found without a restart, and never in the way."""

import json
import logging
import os
from pathlib import Path

import pytest

from studies.instruments import site_folder
from studies.instruments.loading import (
    FIXTURES,
    SITE,
    InstrumentError,
    instrument_ids,
    load,
    path_of,
    register_instrument,
)


def described(id: str, question: str = "How was it?") -> dict[str, object]:
    words = {"en": question, "zh": "怎么样？"}
    head = {"schema": "instrument/1", "id": id, "kind": "questionnaire", "version": "1", "title": words}
    return {**head, "response_scale": {"min": 1, "max": 5}, "items": [{"id": "q1", **words}]}


def write(folder: Path, id: str, data: object) -> Path:
    path = folder / f"{id}.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(SITE, "folder", tmp_path)
    SITE.forget()
    return tmp_path


def test_a_new_file_is_known_at_once_and_a_removed_one_no_longer(folder):
    brought = instrument_ids()
    path = write(folder, "calm", described("calm"))
    assert set(instrument_ids()) == {*brought, "calm"}
    assert load("calm").title["en"] == "How was it?"
    assert path_of("calm") == path
    assert load("calm") is load("calm")

    path.unlink()
    assert instrument_ids() == brought
    with pytest.raises(InstrumentError):
        load("calm")


def test_a_changed_file_is_read_again_and_the_others_are_not(folder):
    write(folder, "calm", described("calm"))
    write(folder, "sleep", described("sleep"))
    sleep = load("sleep")
    assert load("calm").items[0].text["en"] == "How was it?"

    write(folder, "new", described("calm", "And now?")).replace(folder / "calm.json")
    assert load("calm").items[0].text["en"] == "And now?"
    assert load("sleep") is sleep


def test_a_file_that_is_written_in_place_is_noticed_too(folder, monkeypatch):
    write(folder, "calm", described("calm"))
    stamp = folder.stat().st_mtime_ns
    assert load("calm").items[0].text["en"] == "How was it?"

    write(folder, "calm", described("calm", "And now, after all?"))
    os.utime(folder, ns=(stamp, stamp))
    monkeypatch.setattr(site_folder, "LOOK_AGAIN", -1.0)
    assert load("calm").items[0].text["en"] == "And now, after all?"


def test_most_calls_read_no_file(folder, monkeypatch):
    write(folder, "calm", described("calm"))
    load("calm")
    monkeypatch.setattr(Path, "glob", lambda *_: pytest.fail("looked at all files"))
    monkeypatch.setattr(site_folder, "LOOK_AGAIN", 3600.0)
    assert load("calm").id == "calm"


def test_other_folders_do_not_have_them(folder, tmp_path_factory):
    write(folder, "calm", described("calm"))
    assert "calm" not in instrument_ids(tmp_path_factory.mktemp("other"))


@pytest.mark.parametrize(
    ("id", "data", "fault"),
    [
        ("calm", "{", "not valid JSON"),
        ("calm", [1], "must be an object"),
        ("calm", described("storm"), 'id: must be the name of the file, "calm"'),
        ("calm", described("calm") | {"title": {"en": "Only English"}}, "title.zh: is missing"),
        ("mini_ipip", described("mini_ipip"), "id: there is an instrument of this id already"),
        ("crisis_resources", described("crisis_resources"), "id: there is an instrument of this id already"),
    ],
)
def test_a_faulty_file_is_left_out_and_named_once(folder, caplog, id, data, fault):
    brought = instrument_ids()
    mini = load("mini_ipip")
    with caplog.at_level(logging.ERROR):
        write(folder, id, data)
        assert instrument_ids() == brought
        assert load("mini_ipip") is mini
        SITE.instruments.get("calm")
    assert caplog.text.count("is left out") == 1
    assert fault in str(SITE.find_faults()[id])


def test_a_link_to_nowhere_is_left_out(folder):
    (folder / "calm.json").symlink_to(folder / "gone")
    assert "calm" not in instrument_ids()
    assert list(SITE.find_faults()) == ["calm"]


def test_there_need_be_no_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(SITE, "folder", tmp_path / "none")
    assert SITE.instruments == {}
    assert path_of("calm") == FIXTURES / "calm.json"


def test_an_app_may_bring_an_id_that_the_site_has_and_goes_first(folder, monkeypatch, tmp_path_factory):
    write(folder, "calm", described("calm", "Of the site"))
    assert load("calm").items[0].text["en"] == "Of the site"
    monkeypatch.setattr("studies.instruments.loading._OUTSIDE", {})
    register_instrument(write(tmp_path_factory.mktemp("app"), "calm", described("calm", "Of the app")))

    assert load("calm").items[0].text["en"] == "Of the app"
    assert list(SITE.find_faults()) == ["calm"]
