"""The files and batches of tests/llm_server.py, in memory. A batch is worked off when somebody looks at it.

A model named `batch-FAULT`, or `batch-FAULT+MODEL` where that one is to answer, fails in batches and not when it is
asked itself:

- `slow-N`: done at the Nth look; `never`: still in progress then; `expired`: every second request is not run
- `lines`: every second request fails with 500; `malformed`: the first line of the answers is broken off
- `invalid`: refused when it is checked; `limit-N`: refused with more than N requests at once
- `lost`: the batch is begun, and whoever asked for it gets a 500; `refused`: it is not begun, with 404
- `forgotten`: nobody knows it any more when it is looked at

`GET /batches` lists all batches, `GET /files` the numbers of the files that are kept.
"""

import json
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from aiohttp import web

Line = dict[str, Any]
Answer = Callable[[web.Application, Line], Awaitable[tuple[int, Line]]]
FAULTY = re.compile(r"batch-([^+]+)(?:\+(.+))?")
OVER = ("completed", "failed", "expired", "cancelled")


@dataclass
class House:
    """What this server keeps."""

    answer: Answer
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Line] = field(default_factory=dict)
    looks: dict[str, int] = field(default_factory=dict)
    numbers: Any = field(default_factory=lambda: count(1))

    def keep(self, content: bytes) -> str:
        name = f"file-{next(self.numbers)}"
        self.files[name] = content
        return name


HOUSE = web.AppKey("house", House)


def asked_itself(model: str) -> str:
    """Who answers where this model is not asked in a batch."""
    faulty = FAULTY.fullmatch(model)
    return (faulty[2] or "echo") if faulty else model


def fault_of(model: str) -> tuple[str, int]:
    faulty = FAULTY.fullmatch(model)
    name, _, number = (faulty[1] if faulty else "").partition("-")
    return name, int(number or 0)


def add_to(app: web.Application, answer: Answer) -> None:
    """`answer`: what a request's body gets, as status and body."""
    app[HOUSE] = House(answer)
    app.router.add_post("/v1/files", upload)
    app.router.add_get("/v1/files/{file}/content", content)
    app.router.add_delete("/v1/files/{file}", delete)
    app.router.add_post("/v1/batches", begin)
    app.router.add_get("/v1/batches", listed)
    app.router.add_get("/v1/batches/{batch}", look)
    app.router.add_post("/v1/batches/{batch}/cancel", cancel)
    app.router.add_get("/batches", all_batches)
    app.router.add_get("/files", all_files)


async def all_batches(request: web.Request) -> web.Response:
    return web.json_response(list(request.app[HOUSE].batches.values()))


async def all_files(request: web.Request) -> web.Response:
    return web.json_response(list(request.app[HOUSE].files))


def missing(what: str) -> web.Response:
    return web.json_response({"error": {"message": f"No such {what}.", "code": "not_found"}}, status=404)


async def upload(request: web.Request) -> web.Response:
    form = await request.post()
    name = request.app[HOUSE].keep(form["file"].file.read())
    return web.json_response({"id": name, "object": "file", "purpose": form["purpose"]})


async def content(request: web.Request) -> web.Response:
    kept = request.app[HOUSE].files.get(request.match_info["file"])
    return missing("file") if kept is None else web.Response(body=kept)


async def delete(request: web.Request) -> web.Response:
    kept = request.app[HOUSE].files.pop(request.match_info["file"], None)
    return missing("file") if kept is None else web.json_response({"deleted": True})


def lines_in(house: House, batch: Line) -> list[Line]:
    return [json.loads(line) for line in house.files[batch["input_file_id"]].split(b"\n") if line]


async def begin(request: web.Request) -> web.Response:
    house, asked = request.app[HOUSE], await request.json()
    if asked["input_file_id"] not in house.files:
        return missing("file")
    name = f"batch_{next(house.numbers)}"
    batch = {**asked, "id": name, "object": "batch", "status": "validating", "created_at": next(house.numbers)}
    lines = lines_in(house, batch)
    fault, _ = fault_of(lines[0]["body"]["model"])
    if fault == "refused":
        return web.json_response({"detail": "Not Found"}, status=404)
    house.batches[name] = batch | {"request_counts": {"total": 0, "completed": 0, "failed": 0}}
    if fault == "lost":
        return web.json_response({"error": {"message": "Lost."}}, status=500)
    return web.json_response(house.batches[name])


async def listed(request: web.Request) -> web.Response:
    newest_first = list(reversed(request.app[HOUSE].batches.values()))
    return web.json_response({"object": "list", "data": newest_first, "has_more": False})


async def look(request: web.Request) -> web.Response:
    house, name = request.app[HOUSE], request.match_info["batch"]
    batch = house.batches.get(name)
    if batch is None:
        return missing("batch")
    house.looks[name] = house.looks.get(name, 0) + 1
    if batch["status"] not in OVER:
        batch |= await went_on(request.app, batch, house.looks[name])
    fault, _ = fault_of(model_of(house, batch))
    return missing("batch") if fault == "forgotten" else web.json_response(batch)


def model_of(house: House, batch: Line) -> str:
    kept = house.files.get(batch["input_file_id"])
    return json.loads(kept.split(b"\n")[0])["body"]["model"] if kept else ""


async def went_on(app: web.Application, batch: Line, looks: int) -> Line:
    house = app[HOUSE]
    lines = lines_in(house, batch)
    fault, number = fault_of(lines[0]["body"]["model"])
    if fault == "invalid":
        return failed("invalid_json_line", "This line cannot be read.")
    if fault == "limit" and len(lines) > number:
        return failed("token_limit_exceeded", "Enqueued token limit reached.")
    if batch["status"] == "cancelling":
        return await worked_off(app, batch, lines[:1], lines[1:], "cancelled")
    if fault == "never" or (fault == "slow" and looks < number):
        counts = {"total": len(lines), "completed": min(looks, len(lines)), "failed": 0}
        return {"status": "in_progress", "request_counts": counts}
    if fault == "expired":
        return await worked_off(app, batch, lines[::2], lines[1::2], "expired")
    return await worked_off(app, batch, lines, [], "completed")


def failed(code: str, message: str) -> Line:
    return {"status": "failed", "errors": {"object": "list", "data": [{"code": code, "message": message, "line": 1}]}}


async def worked_off(app: web.Application, batch: Line, run: list[Line], not_run: list[Line], status: str) -> Line:
    house = app[HOUSE]
    results = [await result_of(app, number, line) for number, line in enumerate(run)]
    answers = [result for result in results if result["response"]["status_code"] == 200]
    errors = [result for result in results if result not in answers]
    code = {"expired": "batch_expired", "cancelled": "batch_cancelled"}.get(status, "")
    errors += [
        {"custom_id": line["custom_id"], "response": None, "error": {"code": code, "message": "It was not run."}}
        for line in not_run
    ]
    texts = [json.dumps(answer, ensure_ascii=False) for answer in reversed(answers)]  # in no order to rely on
    if texts and fault_of(run[0]["body"]["model"])[0] == "malformed":
        texts[0] = texts[0][:40]
    return {
        "status": status,
        "output_file_id": house.keep("\n".join(texts).encode()) if texts else None,
        "error_file_id": house.keep("".join(f"{json.dumps(error)}\n" for error in errors).encode()) if errors else "",
        "request_counts": {"total": len(run) + len(not_run), "completed": len(answers), "failed": len(errors)},
    }


async def result_of(app: web.Application, number: int, line: Line) -> Line:
    fault, _ = fault_of(line["body"]["model"])
    if fault == "lines" and number % 2:
        status, body = 500, {"error": {"message": "It broke."}}
    else:
        status, body = await app[HOUSE].answer(app, line["body"])
    return {
        "id": f"line_{number}",
        "custom_id": line["custom_id"],
        "response": {"status_code": status, "request_id": "x", "body": body},
        "error": None,
    }


async def cancel(request: web.Request) -> web.Response:
    batch = request.app[HOUSE].batches.get(request.match_info["batch"])
    if batch is None:
        return missing("batch")
    if batch["status"] in OVER:
        return web.json_response({"error": {"message": "It has ended."}}, status=409)
    batch["status"] = "cancelling"
    return web.json_response(batch)
