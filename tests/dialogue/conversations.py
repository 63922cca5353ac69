"""Conversations with the demonstration supporters, for tests."""

import random

from dialogue.providers.base import Message
from dialogue.providers.scripted import DemonstrationSupporter

SEEKER = {
    "en": (
        "I can't sleep because of the deadlines at work",
        "my boss shouted at me in front of everybody today",
        "nobody called me on my birthday",
        "I keep thinking that it was my fault",
        "my sister does not talk to me any more",
        "I do not know what to say really",
        "we argued about money again last night",
        "I feel like I am failing at everything I touch",
        "the exam is in two weeks and I have not started",
        "it is quiet at home since the kids left",
        "I miss how things used to be between us",
        "I am not sure that talking helps at all",
    ),
    "zh": (
        "最近总是睡不着，白天也没精神",
        "领导今天当着大家的面说我",
        "我觉得这件事都是我的错",
        "昨天和妈妈又吵了一架",
        "我也不知道该怎么说",
        "考试没有考好，很丢脸",
        "一个人住，下班后很安静",
        "我们分手三个月了",
        "工作实在太多，做不完",
        "我很怕让父母失望",
        "朋友都结婚了，只有我没变化",
        "不确定说出来有没有用",
    ),
}


def conversation(name: str, language: str, seed: int, turns: int = 10) -> list[tuple[str, str]]:
    """(seeker, supporter) pairs; the seeker draws from SEEKER."""
    draw = random.Random(f"{name} {language} {seed}")
    supporter = DemonstrationSupporter(name, language)
    messages: list[Message] = []
    pairs = []
    for _ in range(turns):
        text = draw.choice(SEEKER[language])
        messages.append(Message("user", text))
        reply = supporter.text_for(messages)
        messages.append(Message("assistant", reply))
        pairs.append((text, reply))
    return pairs
