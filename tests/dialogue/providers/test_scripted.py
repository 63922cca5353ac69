import json
import re
from itertools import pairwise

import pytest

from dialogue.prompts import DEFAULTS
from dialogue.providers import scripted
from dialogue.providers.base import Message, ProviderError
from dialogue.providers.scripted import SUPPORTERS, DemonstrationSupporter, ScriptedModel, pieces, quote_phrase
from dialogue.safety.screening import screen_reply
from tests.dialogue.conversations import SEEKER, conversation

USER = [Message("user", "My boss shouted at me today, in front of everybody.")]


async def test_scripted_answers_in_order_and_keeps_what_it_was_asked() -> None:
    model = ScriptedModel(["One.", "Two."])
    assert [(await model.reply(USER)).text, (await model.reply([])).text] == ["One.", "Two."]
    assert model.calls == [tuple(USER), ()]


async def test_scripted_may_be_a_function() -> None:
    reply = await ScriptedModel(lambda messages: messages[-1].text.upper(), model="shout").reply(USER)
    assert (reply.text, reply.model) == (USER[0].text.upper(), "shout")


async def test_scripted_raises_an_error_of_the_list_and_goes_on() -> None:
    broken = ProviderError("server_error", "Down.")
    model = ScriptedModel([broken, "Up."])
    with pytest.raises(ProviderError) as caught:
        await model.reply(USER)
    assert caught.value is broken
    assert (await model.reply(USER)).text == "Up."


async def test_scripted_list_runs_out() -> None:
    with pytest.raises(ProviderError, match="no reply left") as caught:
        await ScriptedModel([]).reply(USER)
    assert caught.value.permanent


async def test_listener_can_end_the_call() -> None:
    def stop(piece: str) -> None:
        raise KeyError(piece)

    with pytest.raises(KeyError, match="One"):
        await ScriptedModel(["One two."]).reply(USER, stop)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("", []),
        ("I am  here.\nYes", ["I ", "am  ", "here.\n", "Yes"]),
        (" lead", [" ", "lead"]),
        ("您说“好”，对吗", ["您说", "“", "好", "”", "，对吗"]),
        ("用 AI 吗？", ["用", " ", "AI ", "吗？"]),
    ],
)
def test_text_is_cut_into_pieces(text: str, cut: list[str]) -> None:
    assert list(pieces(text)) == cut


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("", ""),
        ("...", ""),
        ("Well. I keep thinking that it was all my own fault, really.", "I keep thinking that it was all my"),
        ("嗯，我最近总是睡不着，累", "我最近总是睡不着"),
        ("我不知道为什么每天都觉得这么累", "我不知道为什么每天都觉得"),
    ],
)
def test_quoted_phrase_is_a_short_piece_of_the_longest_clause(text: str, phrase: str) -> None:
    assert quote_phrase(text) == phrase


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", SUPPORTERS)
async def test_supporter_streams_the_same_reply_each_time(name: str, language: str) -> None:
    taken: list[str] = []
    first = await DemonstrationSupporter(name, language, pace=0).reply(USER, taken.append)
    second = await DemonstrationSupporter(name, language, pace=0).reply(USER)
    assert first.text == second.text == "".join(taken)
    assert len(taken) > 10
    assert first.model == name


@pytest.mark.parametrize(("language", "shortest", "longest"), [("en", 25, 60), ("zh", 30, 80)])
@pytest.mark.parametrize("name", SUPPORTERS)
def test_supporter_varies_within_ten_turns(name: str, language: str, shortest: int, longest: int) -> None:
    for seed in range(20):
        replies = [reply for _, reply in conversation(name, language, seed)]
        lengths = [len(reply.split()) if language == "en" else len(reply) for reply in replies]
        assert shortest <= min(lengths)
        assert max(lengths) <= longest
        assert len(set(replies)) >= (3 if name == "formula" else 8)
        if name != "formula":
            assert all(one != following for one, following in pairwise(replies))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", SUPPORTERS)
def test_supporter_has_its_own_way(name: str, language: str) -> None:
    asks, quotes, numbers = {
        "formula": (False, False, False),
        "advice": (False, False, True),
        "mirror": (False, True, False),
        "question": (True, False, False),
        "attuned": (True, True, False),
    }[name]
    for seed in range(5):
        for seeker, reply in conversation(name, language, seed):
            assert bool(re.search("[?？]", reply)) is asks
            assert (quote_phrase(seeker) in reply) is quotes
            assert ("1. " in reply and "2. " in reply) is numbers


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", SUPPORTERS)
def test_supporter_passes_the_safety_screen(name: str, language: str) -> None:
    for seed in range(5):
        assert [reply for _, reply in conversation(name, language, seed) if screen_reply(reply)] == []


@pytest.mark.parametrize("name", ["mirror", "attuned"])
@pytest.mark.parametrize(
    ("language", "text", "neutral"),
    [("en", "Sometimes I want to die", "what you have just told me"), ("zh", "有时候我想死", "您刚才说的这些")],
)
def test_supporter_does_not_say_back_what_the_screen_would_withhold(
    name: str, language: str, text: str, neutral: str
) -> None:
    reply = DemonstrationSupporter(name, language).text_for([Message("user", text)])
    assert screen_reply(reply) is None
    assert neutral in reply


@pytest.mark.parametrize(
    ("language", "profile", "interest"),
    [("en", "Nickname: Rowan\nInterests: pixel art, thrift shops", "pixel art"), ("zh", "爱好：养花、书法", "养花")],
)
def test_attuned_uses_the_profile_now_and_then(language: str, profile: str, interest: str) -> None:
    supporter = DemonstrationSupporter("attuned", language)
    messages = [Message("system", f"Be kind.\n\n{profile}")]
    named = []
    for text in SEEKER[language][:6]:
        messages.append(Message("user", text))
        reply = supporter.text_for(messages)
        messages.append(Message("assistant", reply))
        named.append(interest in reply)
    assert named == [False, False, True, False, False, True]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_supporter_texts_name_no_machine(language: str) -> None:
    texts = json.dumps(scripted._texts()[language], ensure_ascii=False)
    assert re.findall(r"\b(?:AI|bot|model|assistant|GPT)\b|模型|助手|机器人|人工智能", texts) == []


@pytest.mark.parametrize(("pace", "first", "following"), [(1.0, (0.5, 1.2), 0.04), (0.5, (0.25, 0.6), 0.02)])
async def test_pace_is_that_of_a_model(
    pace: float, first: tuple[float, float], following: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(scripted.asyncio, "sleep", sleep)
    reply = await DemonstrationSupporter("mirror", "en", pace).reply(USER)
    assert first[0] <= waited[0] <= first[1]
    assert waited[1:] == [following] * (len(list(pieces(reply.text))) - 1)


def test_demonstration_parts_say_what_they_are() -> None:
    assert DemonstrationSupporter.demonstration
    assert not hasattr(ScriptedModel, "demonstration")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", SUPPORTERS)
def test_supporter_that_is_to_speak_first_does_and_answers_later_as_ever(name: str, language: str) -> None:
    supporter = DemonstrationSupporter(name, language)
    request = Message("user", DEFAULTS.get("supporter_opens", language).text)
    standing, said = Message("system", "Be kind."), Message("user", SEEKER[language][0])
    opening = supporter.text_for([standing, request])
    assert opening in scripted._texts()[language]["openings"]
    assert screen_reply(opening) is None
    assert supporter.text_for([standing, request, Message("assistant", opening), said]) == supporter.text_for(
        [standing, said]
    )
