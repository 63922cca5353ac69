"""tests/llm_server.py for arms with marker names: it answers under any path, does what the `behaviour` of the request
says whatever the model is called, and betrays the arm in every head, chunk and error.

`late` is a behaviour of its own: nothing comes for 0.15 s, then everything.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from tests.llm_server import ASKED, SEEN, application, behaviour_now, refused, streamed

LATE_SECONDS = 0.15
SAYS = web.RequestKey("says", str)


@asynccontextmanager
async def betraying(port: int) -> AsyncIterator[list[dict[str, Any]]]:
    """The server in the running loop; yields the list of the bodies that it was asked."""
    app = application()
    app.router.add_post("/{folders:.+}/v1/chat/completions", complete)
    app.on_response_prepare.append(sign)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield app[ASKED]
    finally:
        await runner.cleanup()


async def sign(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["X-Served-By"] = request.get(SAYS, "")


async def complete(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    request[SAYS] = body["says"]
    request.app[ASKED].append(body)
    behaviour = behaviour_now(request.app[SEEN], {**body, "model": body["behaviour"]})
    if refusal := refused(behaviour, body, request.headers["Authorization"]):
        return betrayed(refusal, f"{body['model']} {body['says']}")
    if behaviour == "late":
        await asyncio.sleep(LATE_SECONDS)
    return await streamed(request, behaviour, body)


def betrayed(refusal: web.Response, names: str) -> web.Response:
    answer = json.loads(refusal.text or "{}")
    answer["error"]["message"] += f" {names}"
    refusal.text = json.dumps(answer)
    return refusal
