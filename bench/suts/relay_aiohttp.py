"""The near-limit relay: aiohttp WebSocket server and client, uvloop, orjson.

No framework, no database; what a careful Python process can do at best.
    BENCH_LLM, BENCH_MODEL as in channels_app.py;   python relay_aiohttp.py PORT
"""

import os
import sys

import aiohttp
import orjson
from aiohttp import web

try:
    import uvloop

    uvloop.install()
except ImportError:
    pass

BASE, MODEL = os.environ["BENCH_LLM"] + "/v1/chat/completions", os.environ["BENCH_MODEL"]


async def chat(request):
    ws = web.WebSocketResponse(compress=False)
    await ws.prepare(request)
    history = []
    http = request.app["http"]
    async for msg in ws:
        history.append({"role": "user", "content": orjson.loads(msg.data)["text"]})
        said = []
        body = orjson.dumps({"model": MODEL, "messages": history, "stream": True})
        async with http.post(BASE, data=body, headers={"content-type": "application/json"}) as r:
            async for line in r.content:
                if line.startswith(b"data: {"):
                    choices = orjson.loads(line[6:])["choices"]
                    piece = choices[0]["delta"].get("content") if choices else None
                    if piece:
                        said.append(piece)
                        await ws.send_str(orjson.dumps({"t": piece}).decode())
        history.append({"role": "assistant", "content": "".join(said)})
        await ws.send_str('{"end":true}')
    return ws


async def health(request):
    return web.json_response({"ok": True})


async def make():
    app = web.Application()
    app["http"] = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
    app.add_routes([web.get("/ws", chat), web.get("/health", health)])
    return app


if __name__ == "__main__":
    web.run_app(make(), host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)
