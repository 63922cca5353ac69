"""oTree LLM chat.  BENCH_OTREE=async streams with an async-generator live_method
(new in oTree 6); BENCH_OTREE=sync blocks in an ordinary live_method, which is how
oTree chat experiments were written before."""

import json
import os

from openai import AsyncOpenAI, OpenAI  # noqa: TID253
from otree.api import BaseConstants, BaseGroup, BasePlayer, BaseSubsession, Page, models

URL, MODEL = os.environ["BENCH_LLM"] + "/v1", os.environ["BENCH_MODEL"]
aclient = AsyncOpenAI(base_url=URL, api_key="none", max_retries=0)
client = OpenAI(base_url=URL, api_key="none", max_retries=0)


class C(BaseConstants):
    NAME_IN_URL = "chat"
    PLAYERS_PER_GROUP = None
    NUM_ROUNDS = 1


class Subsession(BaseSubsession):
    pass


class Group(BaseGroup):
    pass


class Player(BasePlayer):
    history = models.LongStringField(initial="[]")


def creating_session(subsession):
    # Every participant chats alone, so everyone is a group of one.
    subsession.set_group_matrix([[p] for p in subsession.get_players()])


async def live_async(player, data):
    history = json.loads(player.history)
    history.append({"role": "user", "content": data["text"]})
    me, said = player.id_in_group, []
    stream = await aclient.chat.completions.create(model=MODEL, messages=history, stream=True)
    async for part in stream:
        if part.choices and part.choices[0].delta.content:
            said.append(part.choices[0].delta.content)
            yield {me: {"t": said[-1]}}
    history.append({"role": "assistant", "content": "".join(said)})
    player.history = json.dumps(history)
    yield {me: {"end": True}}


def live_sync(player, data):
    history = json.loads(player.history)
    history.append({"role": "user", "content": data["text"]})
    reply = client.chat.completions.create(model=MODEL, messages=history)
    text = reply.choices[0].message.content
    history.append({"role": "assistant", "content": text})
    player.history = json.dumps(history)
    return {player.id_in_group: {"t": text, "end": True}}


class Chat(Page):
    live_method = live_sync if os.environ.get("BENCH_OTREE") == "sync" else live_async


page_sequence = [Chat]
