"""A bare Django + Channels chat in one file, with the costs switchable by env.

    BENCH_LLM       base URL of the LLM          BENCH_MODEL   model name
    BENCH_CLIENT    openai | openai-aio | httpx | aiohttp   how the stream is read
                    (openai-aio: the OpenAI client over its own aiohttp transport)
    BENCH_DB        none | turn | group | token  rows written: none; the user's and
                                                 the answer's; the same, rows that wait
                                                 together written in one transaction;
                                                 or one update per token as well
    BENCH_DSN       sqlite path, or postgres://user@host:port/name
    BENCH_LAYER     none | memory                tokens through a channel-layer group
    BENCH_COALESCE  ms; tokens that arrive within it are sent in one frame

Run it with  daphne -b 127.0.0.1 -p PORT channels_app:application  (or uvicorn).
"""

import asyncio
import json
import os
import time
from urllib.parse import urlparse

import django
from django.conf import settings

DSN = urlparse(os.environ.get("BENCH_DSN", "bench.sqlite3"))
if DSN.scheme.startswith("postgres"):
    DATABASE = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": DSN.path[1:],
        "USER": DSN.username,
        "HOST": DSN.hostname,
        "PORT": DSN.port,
        "CONN_MAX_AGE": 600,
    }
else:
    DATABASE = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": DSN.path,
        "OPTIONS": {
            "init_command": "PRAGMA journal_mode=WAL;PRAGMA synchronous=NORMAL;",
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
        },
    }
settings.configure(
    SECRET_KEY="bench",
    ALLOWED_HOSTS=["*"],
    USE_TZ=True,
    INSTALLED_APPS=["channels"],
    DATABASES={"default": DATABASE},
    ROOT_URLCONF=__name__,
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    CHANNEL_LAYERS={"default": {"BACKEND": "channels.layers.InMemoryChannelLayer", "CONFIG": {"capacity": 10000}}},
)
django.setup()

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.core.asgi import get_asgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402

BASE, MODEL = os.environ["BENCH_LLM"] + "/v1", os.environ["BENCH_MODEL"]
CLIENT = os.environ.get("BENCH_CLIENT", "openai")
DB = os.environ.get("BENCH_DB", "turn")
LAYER = os.environ.get("BENCH_LAYER", "none")
COALESCE = float(os.environ.get("BENCH_COALESCE", "0")) / 1000


class Message(models.Model):
    dialogue = models.CharField(max_length=64, db_index=True)
    role = models.CharField(max_length=16)
    text = models.TextField()
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "bench"

    def __str__(self):
        return f"{self.dialogue} {self.role}"


if DB != "none" and Message._meta.db_table not in connection.introspection.table_names():
    with connection.schema_editor() as editor:
        editor.create_model(Message)
connection.close()

if CLIENT == "openai":
    from openai import AsyncOpenAI

    llm = AsyncOpenAI(base_url=BASE, api_key="none", max_retries=0)
elif CLIENT == "openai-aio":
    llm = None
elif CLIENT == "httpx":
    import httpx

    llm = httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None))
else:
    import aiohttp

    llm = None


async def tokens(history):
    """The answer's text pieces, as they come."""
    global llm
    body = {"model": MODEL, "messages": history, "stream": True}
    if CLIENT == "openai-aio" and llm is None:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        llm = AsyncOpenAI(base_url=BASE, api_key="none", max_retries=0, http_client=DefaultAioHttpClient())
    if CLIENT.startswith("openai"):
        async for part in await llm.chat.completions.create(**body):
            if part.choices and part.choices[0].delta.content:
                yield part.choices[0].delta.content
    elif CLIENT == "httpx":
        async with llm.stream("POST", BASE + "/chat/completions", json=body) as r:
            r.raise_for_status()
            async for line in r.aiter_lines():
                if line.startswith("data: {"):
                    choices = json.loads(line[6:])["choices"]
                    if choices and choices[0]["delta"].get("content"):
                        yield choices[0]["delta"]["content"]
    else:
        if llm is None:
            llm = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        async with llm.post(BASE + "/chat/completions", json=body) as r:
            r.raise_for_status()
            async for line in r.content:
                if line.startswith(b"data: {"):
                    choices = json.loads(line[6:])["choices"]
                    if choices and choices[0]["delta"].get("content"):
                        yield choices[0]["delta"]["content"]


class GroupCommit:
    """Rows that wait at the same moment are written in one transaction; each caller
    still waits until its own row is committed."""

    def __init__(self):
        self.waiting, self.task = [], None

    async def add(self, row):
        done = asyncio.get_running_loop().create_future()
        self.waiting.append((row, done))
        if self.task is None:
            self.task = asyncio.create_task(self.flush())
        await done

    async def flush(self):
        while self.waiting:
            batch, self.waiting = self.waiting, []
            try:
                await Message.objects.abulk_create([row for row, _ in batch])
            except Exception as e:
                for _, done in batch:
                    done.set_exception(e)
            else:
                for _, done in batch:
                    done.set_result(None)
        self.task = None


commits = GroupCommit()


async def store(key, role, text):
    if DB == "group":
        await commits.add(Message(dialogue=key, role=role, text=text))
    elif DB != "none":
        await Message.objects.acreate(dialogue=key, role=role, text=text)


class Chat(AsyncWebsocketConsumer):
    async def connect(self):
        self.history = []
        self.key = self.channel_name.replace("!", ".") if self.channel_name else str(id(self))
        self.group = "g." + self.key[-60:]
        if LAYER != "none":
            await self.channel_layer.group_add(self.group, self.channel_name)
        await self.accept()

    async def disconnect(self, code):
        if LAYER != "none":
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def piece(self, event):
        await self.send(event["data"])

    async def push(self, data):
        if LAYER == "none":
            await self.send(json.dumps(data))
        else:
            await self.channel_layer.group_send(self.group, {"type": "piece", "data": json.dumps(data)})

    async def receive(self, text_data=None, bytes_data=None):
        # The layer delivers to this same consumer, so the answer needs its own task.
        self.task = asyncio.create_task(self.answer(json.loads(text_data)["text"]))

    async def answer(self, text):
        try:
            self.history.append({"role": "user", "content": text})
            row = None
            await store(self.key, "user", text)
            if DB == "token":
                row = await Message.objects.acreate(dialogue=self.key, role="assistant", text="")
            said, held, since = [], [], 0.0
            async for piece in tokens(self.history):
                said.append(piece)
                if row:
                    row.text = "".join(said)
                    await row.asave(update_fields=["text"])
                if not COALESCE:
                    await self.push({"t": piece})
                    continue
                held.append(piece)
                now = time.monotonic()
                if now - since >= COALESCE:
                    await self.push({"t": "".join(held)})
                    held, since = [], now
            if held:
                await self.push({"t": "".join(held)})
            if DB != "token":
                await store(self.key, "assistant", "".join(said))
            self.history.append({"role": "assistant", "content": "".join(said)})
            await self.push({"end": True})
        except Exception as e:
            await self.push({"error": f"{type(e).__name__}: {e}"})


urlpatterns = [path("health", lambda request: JsonResponse({"ok": True}))]
application = ProtocolTypeRouter({"http": get_asgi_application(), "websocket": URLRouter([path("ws", Chat.as_asgi())])})
