"""A small real server that speaks OpenAI's chat completions; the model's name says how it behaves.

`python -m tests.llm_server --port 0` prints `listening on PORT` first. Models:

- `echo`: says back the last user message, with an open question; where the prompt has `<items>`, a judge's scores;
  where it asks for an `emotion_score`, a Thinker's inner state; where it begins with a `<profile>`, what a seeker says;
  where it has a `<person>`, a profile of a seeker, after a `<seed>` another one for each person; where it asks for a
  `verdict`, that a profile is consistent
- `slow`: the same, one piece each 0.1 s after a first second
- `counted-MS`: the same, one piece each MS milliseconds, beginning with how often it was asked this message
- `say:TEXT` (URL-encoded), `say` (what the request's own field `say` has)
- `reasoning` (thinks before it speaks), `length` (cut by max_tokens)
- `fullwidth`: a judge's scores in full-width digits and punctuation, as Chinese input methods write them; `fenced`: in
  a code fence, after a draft of them; `untidy`: in JSON with single quotes and last commas
- `brief`: a judge's scores, cut off after `max_tokens` words
- `badjudge`: prose, where scores are asked for
- `threes`: 3 for each item of the form in the prompt
- `status-CODE` or `status-CODE-SECONDS` (Retry-After; 0 for a plain `status-429`); `numbered-CODE`: the same, with a
  number of the request in its words, as many servers have
- `stall` (keep-alive comments, for ever), `break` (hangs up in the middle), `hangup` (before any header), `badjson`,
  `empty`, `filter` and `refusal` (content filter, refusal), `streamerror` (an error object in the stream)
- `noschema`: 400 where a JSON schema is asked for. All others answer by the schema, where it is one that they can
  answer by (`fault_of_schema`), else with 400; what they say of themselves, as `badjudge`, they say all the same
- `context-N`: as `echo` for up to N characters in all; more is refused with OpenAI's code for it. `odd-N`: the same
  with an error 400 that does not say so
- `quota` (429, spent for good), `nooptions`: 400 where `stream_options` is asked for; `leak`: 400 that quotes the key
- `flaky-N-FAULT`: the first N requests with the same last user message get the fault, the others `echo`, or with
  `flaky-N-FAULT+MODEL` that model
- `batch-FAULT`: fails in batches only; see tests/llm_batches.py
- `late-MS+MODEL`: as that model, after MS milliseconds
- `lantern`: a second line of the risk screen that finds level 3 wherever there is a lantern, also in earlier turns, and
  harm in replies with one; `level-N` finds that level in everything; `shy` finds 0 and says nothing of replies

`POST /v1/moderations` answers with scores, as `lantern` and `level-N` find levels; `bare` has no scores, `wild` such as
cannot be. Statuses, `hangup`, `badjson`, `flaky-…` and `late-…` as above.

`GET /asked` lists the bodies of all requests, in order, also those answered in batches (which name no `stream`).
"""

import argparse
import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from aiohttp import web

from tests import llm_batches

ROOT = Path(__file__).resolve().parents[1]
ASKED = web.AppKey("asked", list)
SEEN = web.AppKey("seen", Counter)
KEEP_ALIVE_SECONDS = 0.02
REQUESTS = count(1)
FULL_WIDTH = str.maketrans({**{str(n): chr(0xFF10 + n) for n in range(10)}, ":": "：", ",": "，", "{": "｛", "}": "｝"})
ITEMS = re.compile(r"<items>(.*)</items>", re.DOTALL)
MATTER = re.compile(r"^<person>$.*^matter: (.*?)$", re.DOTALL | re.MULTILINE)
ITEM = re.compile(r"^key:\s*(\S+)\s*^scale:\s*(\d+)-(\d+)", re.MULTILINE)
ASKS_FOR_THOUGHT = '"emotion_score": n'
ASKS_FOR_VERDICT = '{"verdict": "…"'
WORDS = {
    "en": "lamp river stone paper window garden bread music train letter morning street table colour button kettle",
    "zh": "灯 河 石 纸 窗 园 饭 歌 车 信 晨 街 桌 色 扣 壶 架 云 雨 山 桥 门 杯 船",
}

REACTIONS = ("generic_comfort", "premature_advice", "accurate_reflection", "open_question", "pressure")

Delta = dict[str, Any]


@contextmanager
def running(port: int = 0) -> Iterator[str]:
    """The server as a process of its own; yields its base URL (…/v1)."""
    command = [sys.executable, "-m", "tests.llm_server", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ) as process:
        try:
            assert process.stdout is not None
            listening = process.stdout.readline().removeprefix("listening on ").strip()
            yield f"http://127.0.0.1:{listening}/v1"
        finally:
            process.terminate()


def application() -> web.Application:
    app = web.Application(client_max_size=2**24)
    app[ASKED] = []
    app[SEEN] = Counter()
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_post("/v1/moderations", moderate)
    app.router.add_get("/v1/models", models)
    app.router.add_get("/asked", asked)
    llm_batches.add_to(app, answer_in_batch)
    return app


async def models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [{"id": "echo", "object": "model"}]})


async def asked(request: web.Request) -> web.Response:
    return web.json_response(request.app[ASKED])


async def answer_in_batch(app: web.Application, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    app[ASKED].append(body)
    behaviour = behaviour_now(app[SEEN], body)
    response = refused(behaviour, body, "") or await whole(behaviour, body)
    return response.status, json.loads(response.body)


async def complete(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    request.app[ASKED].append(body)
    behaviour = await behaviour_in_time(request.app[SEEN], body)
    if refusal := refused(behaviour, body, request.headers.get("Authorization", "")):
        return refusal
    if behaviour == "hangup":
        request.transport.close()
        return web.Response()
    if not body.get("stream"):
        return await whole(behaviour, body)
    return await streamed(request, behaviour, body)


async def moderate(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    request.app[ASKED].append(body)
    behaviour = await behaviour_in_time(request.app[SEEN], {**body, "messages": []})
    if refusal := refused(behaviour, body, request.headers.get("Authorization", "")):
        return refusal
    if behaviour == "hangup":
        request.transport.close()
        return web.Response()
    if behaviour == "badjson":
        return web.Response(text='{"results": [{"flag', content_type="application/json")
    results = [{"flagged": False, "category_scores": scores_of(behaviour, text)} for text in body["input"]]
    return web.json_response({"id": "x", "model": f"{behaviour}-2026", "results": results})


def scores_of(behaviour: str, text: str) -> dict[str, float]:
    if behaviour == "bare":
        return {}
    if behaviour == "wild":
        return {"self-harm/intent": 17.0}
    level = level_in(behaviour, text)
    return {"self-harm": 0.9 if level >= 2 else 0.01, "self-harm/intent": 0.9 if level >= 3 else 0.01, "violence": 0.0}


def level_in(behaviour: str, text: str) -> int:
    if behaviour == "lantern":
        return 3 if "lantern" in text else 0
    if behaviour == "shy":
        return 0
    return int(behaviour.removeprefix("level-"))


async def behaviour_in_time(seen: Counter, body: dict[str, Any]) -> str:
    behaviour = behaviour_now(seen, body)
    if late := re.fullmatch(r"late-(\d+)\+(.+)", behaviour):
        await asyncio.sleep(int(late[1]) / 1000)
        return late[2]
    return behaviour


def behaviour_now(seen: Counter, body: dict[str, Any]) -> str:
    """The model's name, without its `flaky-N-` where that stands before it; `counted-MS` as `counted-MS-TIMES`."""
    name, key = llm_batches.asked_itself(body["model"]), (body["model"], last_user_text(body))
    seen[key] += 1
    if flaky := re.fullmatch(r"flaky-(\d+)-([^+]+)(?:\+(.+))?", name):
        name = flaky[2] if seen[key] <= int(flaky[1]) else flaky[3] or "echo"
    return f"{name}-{seen[key]}" if name.startswith("counted-") else name


def refused(behaviour: str, body: dict[str, Any], authorization: str) -> web.Response | None:
    status = re.fullmatch(r"status-(\d{3})(?:-(\d+))?", behaviour)
    if status:
        headers = {"Retry-After": status[2] or "0"} if status[2] or status[1] == "429" else {}
        return error(int(status[1]), f"Asked to answer {status[1]}.", headers=headers)
    if numbered := re.fullmatch(r"numbered-(\d{3})", behaviour):
        return error(int(numbered[1]), f"Something went wrong (request {next(REQUESTS)}).")
    if limited := re.fullmatch(r"(context|odd)-(\d+)", behaviour):
        length, most = sum(len(message["content"]) for message in body["messages"]), int(limited[2])
        if length > most and limited[1] == "odd":
            return error(400, "Bad request.")
        if length > most:
            words = f"This model's maximum context length is {most} tokens. However, your messages have {length}."
            return error(400, words, code="context_length_exceeded")
    if behaviour == "quota":
        return error(429, "You exceeded your quota.", code="insufficient_quota")
    if behaviour == "nooptions" and "stream_options" in body:
        return error(400, "Unrecognized request argument supplied: stream_options")
    if "response_format" in body and (fault := fault_of_schema(behaviour, body)):
        return error(400, fault)
    if behaviour == "leak":
        return error(400, f"Bad request with {authorization}")
    return None


def fault_of_schema(behaviour: str, body: dict[str, Any]) -> str:
    """What OpenAI would say of a `response_format` that it cannot follow; also where it is not about what is asked."""
    form = body["response_format"]
    if behaviour == "noschema":
        return f"Invalid parameter: 'response_format' of type '{form['type']}' is not supported with this model."
    told = form["json_schema"]
    if form["type"] != "json_schema" or told["strict"] is not True or not re.fullmatch(r"[\w-]{1,64}", told["name"]):
        return "Invalid schema for response_format: it has no name, or is not strict."
    for part in objects_in(told["schema"]):
        if part["required"] != list(part["properties"]) or part["additionalProperties"] is not False:
            return "Invalid schema for response_format: all keys must be required, and no others allowed."
    if (items := ITEMS.search(last_user_text(body))) and asked_by(told["schema"]) != ITEM.findall(items[1]):
        return "Invalid schema for response_format: these are not the items."
    return ""


def objects_in(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if schema["type"] == "object":
        yield schema
        for part in schema["properties"].values():
            yield from objects_in(part)


def asked_by(schema: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Keys, lowest and highest, as `ITEM` finds them in the prompt."""
    scores = schema["properties"]["evaluation"]["properties"]
    return [(key, str(min(one["enum"])), str(max(one["enum"]))) for key, one in scores.items()]


def by_schema(schema: dict[str, Any], prompt: str, key: str = "") -> Any:
    """A value that follows it, always the same for the same prompt."""
    if schema["type"] == "object":
        return {name: by_schema(part, prompt, name) for name, part in schema["properties"].items()}
    if schema["type"] == "integer":
        allowed = schema.get("enum", range(101))
        return allowed[number(prompt, key) % len(allowed)]
    return f"{key}, by its hash."


def error(status: int, message: str, *, code: str = "", headers: dict[str, str] | None = None) -> web.Response:
    body = {"error": {"message": message, "type": "test_error", "code": code or None}}
    return web.json_response(body, status=status, headers=headers)


async def whole(behaviour: str, body: dict[str, Any]) -> web.Response:
    text, finish = said(behaviour, body)
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return web.json_response(
        {
            "id": "x",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [choice],
            "usage": usage(body, text),
        }
    )


async def streamed(request: web.Request, behaviour: str, body: dict[str, Any]) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    with suppress(ConnectionResetError):  # whoever asked has gone
        await response.prepare(request)
        await pour(response, request, behaviour, body)
    return response


async def pour(response: web.StreamResponse, request: web.Request, behaviour: str, body: dict[str, Any]) -> None:
    await response.write(b": keep-alive\r\n\r\n")
    if behaviour == "stall":
        while True:
            await asyncio.sleep(KEEP_ALIVE_SECONDS)
            await response.write(b": keep-alive\n\n")
    async for line in lines(behaviour, body):
        if line is None:
            request.transport.close()
            return
        await response.write(b"data: " + line.encode() + b"\r\n\r\n")
    await response.write_eof()


async def lines(behaviour: str, body: dict[str, Any]) -> AsyncIterator[str | None]:
    """The data lines of the stream; None: hang up."""
    text, finish = said(behaviour, body)
    yield chunk(body, {"role": "assistant", "content": ""})
    for delta in deltas(behaviour, text):
        yield chunk(body, delta)
        await asyncio.sleep(seconds_between(behaviour))
        if behaviour == "break" and len(text) > 10:
            yield None
    if behaviour == "badjson":
        yield '{"choices": [{"delta"'
    if behaviour == "streamerror":
        yield json.dumps({"error": {"message": "Overloaded.", "code": 503}})
    yield chunk(body, {}, finish=finish)
    if body.get("stream_options", {}).get("include_usage"):
        yield json.dumps({"model": body["model"], "choices": [], "usage": usage(body, text)})
    yield "[DONE]"


def seconds_between(behaviour: str) -> float:
    if behaviour.startswith("counted-"):
        return int(behaviour.split("-")[1]) / 1000
    return 0.1 if behaviour == "slow" else 0.0


def deltas(behaviour: str, text: str) -> Iterator[Delta]:
    if behaviour == "empty":
        return
    if behaviour == "refusal":
        yield {"refusal": "I cannot answer that."}
        return
    if behaviour == "reasoning":
        yield {"reasoning_content": "First I "}
        yield {"reasoning_content": "think."}
    for piece in re.findall(r"\S+\s*|\s+", text):
        yield {"content": piece}


def chunk(body: dict[str, Any], delta: Delta, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "x", "object": "chat.completion.chunk", "model": body["model"], "choices": [choice]}
    return json.dumps(chunk, ensure_ascii=False)


def usage(body: dict[str, Any], text: str) -> dict[str, int]:
    """Words for tokens."""
    prompt = sum(len(message["content"].split()) for message in body["messages"])
    completion = len(text.split())
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def said(behaviour: str, body: dict[str, Any]) -> tuple[str, str]:
    """The whole text, and why it ends there."""
    text = answer(behaviour, body)
    if behaviour == "brief" and len(text.split()) > body["max_tokens"]:
        return "".join(re.findall(r"\s*\S+", text)[: body["max_tokens"]]), "length"
    return text, {"filter": "content_filter", "length": "length"}.get(behaviour, "stop")


def answer(behaviour: str, body: dict[str, Any]) -> str:
    if behaviour == "say":
        return body["say"]
    if behaviour.startswith("say:"):
        return unquote(behaviour.removeprefix("say:"))
    if written := WRITTEN.get(behaviour):
        return written(judged(last_user_text(body)))
    if behaviour == "threes":
        return json.dumps(dict.fromkeys(re.findall(r'"(\w+)": n', last_user_text(body)), 3))
    if behaviour == "badjudge":
        return "On the whole I found this conversation rather good."
    last = last_user_text(body)
    if behaviour in ("lantern", "shy") or behaviour.startswith("level-"):
        return second_line(behaviour, last)
    if "response_format" in body:
        return json.dumps(by_schema(body["response_format"]["json_schema"]["schema"], last))
    if ITEMS.search(last):
        return judged(last)
    if any(ASKS_FOR_THOUGHT in message["content"] for message in body["messages"]):
        return thought(last)
    if any(ASKS_FOR_VERDICT in message["content"] for message in body["messages"]):
        return '<output>{"verdict": "consistent", "reason": ""}</output>'
    if last.startswith("<seed>"):
        return further_profile(last.partition("<person>")[2])
    if last.startswith("<profile>"):
        return f"It is {number(last) % 1000} things at once, and I cannot sleep."
    if matter := MATTER.search(last):
        return profile(matter[1])
    told = f"Answer {behaviour.split('-')[2]}. " if behaviour.startswith("counted-") else ""
    return f"{told}You say: {last[:200]} What weighs on you most in it?"


def second_line(behaviour: str, prompt: str) -> str:
    """The level of a message, or whether a reply is harmful."""
    if reply := re.search("<reply>(.*)</reply>", prompt, re.DOTALL):
        if behaviour == "shy":
            return "Replies are not my business."
        harmful = level_in(behaviour, reply[1]) >= 3
        return json.dumps({"harmful": harmful, "category": "method" if harmful else "none"})
    level = level_in(behaviour, prompt)
    return json.dumps({"level": level, "category": "self" if level else "none"})


def judged(prompt: str) -> str:
    items = ITEM.findall(ITEMS.search(prompt)[1])
    scores = {key: int(low) + number(prompt, key) % (int(high) - int(low) + 1) for key, low, high in items}
    return f"<output>{json.dumps({'analysis': 'By its hash.', 'evaluation': scores})}</output>"


def full_width(scores: str) -> str:
    return scores.translate(FULL_WIDTH)


def fenced(scores: str) -> str:
    drafted = re.sub(r": \d+", ": 1", scores)
    return f"First I thought {drafted}. No, rather:\n```json\n{bare(scores)}\n```\nThat is all."


def untidy(scores: str) -> str:
    return bare(scores).replace('"', "'").replace("}", ",}")


def bare(scores: str) -> str:
    return scores.removeprefix("<output>").removesuffix("</output>")


WRITTEN = {"fullwidth": full_width, "fenced": fenced, "untidy": untidy}


def thought(prompt: str) -> str:
    state = {"cognition": "It listens.", "emotion": "calmer", "goal": "be heard", "emotion_score": number(prompt) % 101}
    return f"<output>{json.dumps(state)}</output>"


def profile(matter: str) -> str:
    """As a careless writer makes it: the problem is told in the person's own words."""
    written = {
        "P": {"speech_style": "short lines", "habits": ["walks"], "support_preference": "questions"},
        "C": {"problem": matter, "emotion": "anger", "background": "It was told in passing.", "goals": ["be asked"]},
        "S": {
            "opening": "hi, do you have a moment",
            "layers": ["work changed", "nobody asked", "feels replaceable"],
            "reactions": dict.fromkeys(REACTIONS, "tells a little more"),
            "ends_when": "it goes round in circles",
        },
    }
    return f"<output>{json.dumps(written, ensure_ascii=False)}</output>"


def further_profile(person: str) -> str:
    """A story of words drawn by a hash of who the person is, in the language of their alias."""
    sentence = partial(words_for, person, WORDS["zh" if re.search("[一-鿿]", person) else "en"])
    written = {
        "D": {name: sentence(name) for name in ("education", "relationship", "living")},
        "P": {name: sentence(name) for name in ("speech_style", "habits", "hobbies", "support_preference")},
        "C": {name: sentence(name) for name in ("problem", "emotion", "background", "goals")} | {"intensity": 4},
        "S": {
            **{name: sentence(name) for name in ("opening", "ends_when")},
            "layers": [sentence(f"layer {n}") for n in range(3)],
            "reactions": {name: sentence(name) for name in REACTIONS},
        },
    }
    return f"<output>{json.dumps(written, ensure_ascii=False)}</output>"


def words_for(person: str, words: str, name: str) -> str:
    chosen = words.split()
    return (" " if chosen[0].isascii() else "").join(
        chosen[number(person, name, str(n)) % len(chosen)] for n in range(9)
    )


def number(*parts: str) -> int:
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode()).digest()[:4])


def last_user_text(body: dict[str, Any]) -> str:
    return next((one["content"] for one in reversed(body["messages"]) if one["role"] == "user"), "")


async def serve(port: int) -> None:
    runner = web.AppRunner(application(), access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    print(f"listening on {site._server.sockets[0].getsockname()[1]}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A small OpenAI-compatible server for tests")
    parser.add_argument("--port", type=int, default=0)
    asyncio.run(serve(parser.parse_args().port))


if __name__ == "__main__":
    main()
