from pathlib import Path

import pytest

from dialogue.demonstration.judges import DemonstrationJudge, DemonstrationThinker
from dialogue.providers.base import Message, ModelSettings, ProviderError
from dialogue.providers.openai_compatible import OpenAICompatible
from dialogue.providers.registry import KINDS, get_api_key, model_for
from dialogue.providers.scripted import SUPPORTERS, DemonstrationSupporter


def test_kinds_are_those_of_the_study_file() -> None:
    assert set(KINDS) == {"openai_compatible", "scripted"}


@pytest.mark.parametrize(
    ("kind", "name", "made"),
    [
        ("openai_compatible", "any", OpenAICompatible),
        *(("scripted", name, DemonstrationSupporter) for name in SUPPORTERS),
        ("scripted", "judge", DemonstrationJudge),
        ("scripted", "thinker", DemonstrationThinker),
    ],
)
def test_model_is_made_from_its_settings(kind: str, name: str, made: type) -> None:
    assert type(model_for(ModelSettings(kind, model=name))) is made


@pytest.mark.parametrize(
    ("settings", "status", "detail"),
    [
        (ModelSettings("oracle"), "client_error", "There is no model kind oracle."),
        (ModelSettings("scripted", model="sage"), "client_error", "There is no scripted model sage."),
        (ModelSettings("scripted"), "client_error", "There is no scripted model ."),
        (ModelSettings("openai_compatible", api_key_env="X"), "key_unset", "The environment variable X is not set."),
    ],
)
def test_unusable_settings_are_a_permanent_error(settings: ModelSettings, status: str, detail: str) -> None:
    with pytest.raises(ProviderError) as caught:
        model_for(settings, environ={})
    assert (caught.value.status, caught.value.detail, caught.value.permanent) == (status, detail, True)


def test_api_key_comes_from_the_variable_or_its_file(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-file\n")
    assert get_api_key("", {}) == "none"
    assert get_api_key("X", {"X": "direct\n"}) == "direct"
    assert get_api_key("X", {"X_FILE": str(tmp_path / "key")}) == "from-file"


@pytest.mark.parametrize("content", [None, "sk-1".encode("utf-16")], ids=["absent", "not UTF-8"])
def test_unreadable_key_file_is_named(content: bytes | None, tmp_path: Path) -> None:
    if content:
        (tmp_path / "key").write_bytes(content)
    with pytest.raises(ProviderError) as caught:
        get_api_key("X", {"X_FILE": str(tmp_path / "key")})
    assert caught.value.detail == "The file that X_FILE names cannot be read."


def test_key_file_of_windows_gives_its_key(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-1\r\n", encoding="utf-8-sig")
    assert get_api_key("X", {"X": "", "X_FILE": str(tmp_path / "key")}) == "sk-1"


@pytest.mark.parametrize(
    ("extra", "pace", "waits"),
    [
        ({}, None, True),
        ({"pace": 0}, None, False),
        ({"pace": 0}, 0.5, True),
        ({}, 0.0, False),
        ({"pace": 2}, 0.0, False),
    ],
)
async def test_pace_of_the_call_stands_before_that_of_the_settings(
    extra: dict[str, float], pace: float | None, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("dialogue.providers.scripted.asyncio.sleep", sleep)
    model = model_for(ModelSettings("scripted", model="formula", extra=extra), pace=pace)
    await model.reply([Message("user", "hi")])
    assert bool(waited) is waits


async def test_language_reaches_the_supporter() -> None:
    reply = await model_for(ModelSettings("scripted", model="formula"), language="zh", pace=0).reply(
        [Message("user", "我很累")]
    )
    assert "您" in reply.text


@pytest.mark.parametrize(
    ("variable", "environ"),
    [
        ("OTHER", {"OTHER": "sk-1", "MODEL_KEYS": "LAB_KEY,FIRM_KEY"}),
        ("OTHER_FILE", {"OTHER_FILE": "/etc/hostname", "MODEL_KEYS": "OTHER"}),
        ("DATABASE_URL", {"DATABASE_URL": "postgresql://me:hunter2@host/name"}),
    ],
)
def test_value_of_a_variable_that_the_admin_does_not_list_goes_to_no_server(variable, environ) -> None:
    with pytest.raises(ProviderError, match=f"The variable {variable} is none that a study may name") as refused:
        get_api_key(variable, environ)
    assert refused.value.permanent
    assert environ[variable] not in str(refused.value)


def test_listed_variable_is_a_key(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-2\n")
    environ = {"FIRM_KEY": "sk-1", "LAB_KEY_FILE": str(tmp_path / "key"), "MODEL_KEYS": "LAB_KEY, FIRM_KEY"}
    assert (get_api_key("FIRM_KEY", environ), get_api_key("LAB_KEY", environ)) == ("sk-1", "sk-2")
