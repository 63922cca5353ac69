"""Fast OpenAI-compatible mock LLM server for benchmarks (standard library only).

A hand-written HTTP/1.1 asyncio.Protocol, so that the mock costs little next to
the system under test.  Serves, on 127.0.0.1 only:

    POST /v1/chat/completions   stream and non-stream
    GET  /v1/models  /health  /stats  (counters, lateness, CPU seconds)
    POST /reset                 zero the counters

Behaviour is chosen by the *model name*, so one server serves many scenarios:

    mock-n40-f200-g25           40 tokens, first after 200 ms, then one per 25 ms
    judge-f200                  one short verdict after 200 ms ("GRADE: C [[7]]")
    scores-f200                 4 for each of the ten EmoHarbor dimensions, in one piece after 200 ms
    thought-f200                an inner state, likewise
    watch-f150                  a second line's verdict of level 0 after 150 ms
    cast-n28-f500-g0            whichever of these the prompt asks for, else 28 tokens
    mock-...-x429-p10           10 % of requests answered 429 with Retry-After
    x429 | x500 | xjson (malformed JSON) | xstall (stops half way) |
    xdrop (connection dropped half way);   p = percent of requests (default 100)

Every token reads ``w<i>@<emit_us> `` with the machine's monotonic clock; the
first one is ``w0@<emit_us><<received_us>#<nonce> ``, where the nonce is copied
from the last ``#n=<nonce>#`` of the request.  A client on the same machine can
so tell, exactly and per token, how long the system in between took, whether a
token was lost, repeated or reordered, and whether an answer went astray.

    python mock_llm.py --port 9100
"""

import argparse
import asyncio
import json
import random
import re
import time

try:
    import uvloop
except ImportError:
    uvloop = None

LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.I)
MODEL = re.compile(rb'"model"\s*:\s*"([^"]*)"')
STREAM = re.compile(rb'"stream"\s*:\s*true')
USAGE = re.compile(rb'"include_usage"\s*:\s*true')
NONCE = re.compile(rb"#n=([A-Za-z0-9_.-]+)#")
PART = re.compile(r"-(n|f|g|p)(\d+)")
FAULT = re.compile(r"-x(429|500|json|stall|drop)")
VERDICT = "The answer meets the criterion.\\n\\nGRADE: C\\n\\nRating: [[7]]"

DIMENSIONS = (
    "problem_resolution",
    "mood_improvement",
    "response_appropriateness",
    "adaptive_strategies",
    "engagement",
    "human_likeness",
    "empathetic",
    "safety",
    "consistency",
    "redundancy",
)
SCORES = json.dumps({"evaluation": dict.fromkeys(DIMENSIONS, 4)})
VERDICT_OF_SECOND_LINE = json.dumps({"level": 0, "category": "none"})
THOUGHT = json.dumps({"cognition": "I see.", "emotion": "calm", "goal": "go on", "emotion_score": 50})

SPECS = {}  # model name -> Spec
STATS = {}
RNG = random.Random(20240)


def now_us():
    return time.monotonic_ns() // 1000


def reset():
    STATS.update(
        requests=0,
        streams=0,
        tokens=0,
        faults=0,
        aborted=0,
        inflight=0,
        max_inflight=0,
        late_us_sum=0,
        late_us_max=0,
        cpu_start=time.process_time(),
    )


class Spec:
    """What one model name asks for, with its fixed bytes rendered once."""

    def __init__(self, name):
        opts = {k: int(v) for k, v in PART.findall(name)}
        self.n = opts.get("n", 40)
        self.first = opts.get("f", 200) / 1000
        self.gap = opts.get("g", 25) / 1000
        self.percent = opts.get("p", 100)
        found = FAULT.search(name)
        self.fault = found.group(1) if found else None
        self.judge = name.startswith("judge")
        fixed = {"scores": SCORES, "thought": THOUGHT, "watch": VERDICT_OF_SECOND_LINE}
        text = fixed.get(name.partition("-")[0], "")
        self.text = json.dumps(text)[1:-1].encode()
        self.n = 1 if text else self.n
        base = (
            'data: {"id":"chatcmpl-mock","object":"chat.completion.chunk",'
            f'"created":1700000000,"model":"{name}","choices":[{{"index":0,'
        )
        self.head = (base + '"delta":{"content":"').encode()
        self.tail = b'"},"finish_reason":null}]}\n\n'
        self.role = chunk((base + '"delta":{"role":"assistant","content":""},"finish_reason":null}]}\n\n').encode())
        self.stop = chunk((base + '"delta":{},"finish_reason":"stop"}]}\n\n').encode())
        usage = f'{{"prompt_tokens":10,"completion_tokens":{self.n},"total_tokens":{self.n + 10}}}'
        self.usage = chunk(
            (
                'data: {"id":"chatcmpl-mock","object":"chat.completion.chunk",'
                f'"created":1700000000,"model":"{name}","choices":[],"usage":{usage}}}\n\n'
            ).encode()
        )
        self.full = (
            '{"id":"chatcmpl-mock","object":"chat.completion","created":1700000000,'
            f'"model":"{name}","choices":[{{"index":0,"message":{{"role":"assistant",'
            f'"content":"%s"}},"finish_reason":"stop"}}],"usage":{usage}}}'
        )


def asked_for(body):
    if b"emotion_score" in body and b"evaluation" not in body:
        return "thought"
    return "scores" if b"<items>" in body else "mock"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


DONE = chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n"
SSE_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    b"cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
)


class Conn(asyncio.Protocol):
    def __init__(self, loop):
        self.loop, self.buf, self.busy, self.timer = loop, b"", False, None

    def connection_made(self, transport):
        self.transport = transport

    def connection_lost(self, exc):
        if self.timer is not None:
            self.timer.cancel()
            STATS["aborted"] += 1
            STATS["inflight"] -= 1
            self.timer = None
        self.busy = True

    def data_received(self, data):
        self.buf = self.buf + data if self.buf else data
        if not self.busy:
            self.next_request()

    def next_request(self):
        end = self.buf.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self.buf[:end]
        found = LENGTH.search(head)
        stop = end + 4 + (int(found.group(1)) if found else 0)
        if len(self.buf) < stop:
            return
        body, self.buf = self.buf[end + 4 : stop], self.buf[stop:]
        self.busy = True
        self.handle(head.split(b"\r\n", 1)[0], body)

    def finish(self):
        """The answer is written; take the next request of a kept connection."""
        self.busy, self.timer = False, None
        if self.buf:
            self.next_request()

    def plain(self, status, text, extra=""):
        data = text.encode()
        self.transport.write(
            f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n"
            f"{extra}content-length: {len(data)}\r\n\r\n".encode()
            + data
        )
        self.finish()

    def handle(self, line, body):
        if b"/chat/completions" in line:
            return self.completion(body)
        if b"/models" in line:
            return self.plain(
                "200 OK",
                json.dumps(
                    {
                        "object": "list",
                        "data": [
                            {"id": n, "object": "model", "created": 0, "owned_by": "mock"} for n in ("mock", "judge")
                        ],
                    }
                ),
            )
        if b"/reset" in line:
            reset()
        if b"/stats" in line or b"/reset" in line:
            cpu = time.process_time() - STATS["cpu_start"]
            return self.plain("200 OK", json.dumps(dict(STATS, cpu_s=round(cpu, 4))))
        if b"/health" in line:
            return self.plain("200 OK", '{"ok":true}')
        self.plain("404 Not Found", '{"error":{"message":"no such path"}}')

    def completion(self, body):
        received = now_us()
        found = MODEL.search(body)
        name = found.group(1).decode() if found else "mock"
        if name.startswith("cast"):
            name = asked_for(body) + name[4:]
        spec = SPECS.get(name) or SPECS.setdefault(name, Spec(name))
        STATS["requests"] += 1
        STATS["inflight"] += 1
        STATS["max_inflight"] = max(STATS["max_inflight"], STATS["inflight"])
        fault = None
        if spec.fault and RNG.random() * 100 < spec.percent:
            fault = spec.fault
            STATS["faults"] += 1
        nonces = NONCE.findall(body)
        nonce = nonces[-1].decode() if nonces else "-"
        start = self.loop.time()
        if fault in ("429", "500"):
            self.timer = self.loop.call_at(start + min(spec.first, 0.01), self.refuse, fault)
        elif STREAM.search(body):
            STATS["streams"] += 1
            self.timer = self.loop.call_at(
                start + spec.first,
                self.token,
                spec,
                0,
                start + spec.first,
                received,
                nonce,
                fault,
                bool(USAGE.search(body)),
            )
        else:
            when = start + spec.first + (0 if spec.judge else spec.gap * (spec.n - 1))
            self.timer = self.loop.call_at(when, self.whole, spec, when, received, nonce, fault)

    def late(self, when):
        us = int((self.loop.time() - when) * 1e6)
        STATS["late_us_sum"] += us
        STATS["late_us_max"] = max(STATS["late_us_max"], us)

    def refuse(self, fault):
        STATS["inflight"] -= 1
        if fault == "429":
            self.plain(
                "429 Too Many Requests",
                '{"error":{"message":"rate limited","type":"rate_limit_error"}}',
                "retry-after: 1\r\n",
            )
        else:
            self.plain("500 Internal Server Error", '{"error":{"message":"mock fault","type":"server_error"}}')

    def whole(self, spec, when, received, nonce, fault):
        STATS["inflight"] -= 1
        self.late(when)
        if fault in ("drop", "stall"):
            self.timer = None
            if fault == "drop":
                self.transport.abort()
            return
        if spec.judge:
            text = VERDICT
        else:
            emit = now_us()
            text = f"w0@{emit}<{received}#{nonce} " + "".join(f"w{i}@{emit} " for i in range(1, spec.n))
        reply = spec.full % text
        if fault == "json":
            reply = reply[: len(reply) // 2]
        self.plain("200 OK", reply)

    def token(self, spec, i, when, received, nonce, fault, usage):
        """Write token i; with no gap, write all that remain at once."""
        self.late(when)
        out = [SSE_HEAD, spec.role] if i == 0 else []
        half = spec.n // 2
        while True:
            emit = now_us()
            text = b"w%d@%d " % (i, emit) if i else b"w0@%d<%d#%s " % (emit, received, nonce.encode())
            text = spec.text or text
            out.append(chunk(spec.head + text + spec.tail))
            STATS["tokens"] += 1
            i += 1
            if i >= spec.n or spec.gap or (fault and i >= half):
                break
        if fault and i >= half:
            if fault == "json":
                out.append(chunk(b'data: {"id": "chatcmpl-mock", "choices": [{"del\n\n'))
                out.append(DONE)
                self.transport.write(b"".join(out))
                STATS["inflight"] -= 1
                return self.finish()
            self.transport.write(b"".join(out))
            if fault == "drop":
                STATS["inflight"] -= 1
                self.timer = None
                return self.transport.close()
            self.timer = self.loop.call_later(3600, self.transport.abort)  # stall
            return None
        if i >= spec.n:
            out.append(spec.stop)
            if usage:
                out.append(spec.usage)
            out.append(DONE)
            self.transport.write(b"".join(out))
            STATS["inflight"] -= 1
            return self.finish()
        self.transport.write(b"".join(out))
        when += spec.gap
        self.timer = self.loop.call_at(when, self.token, spec, i, when, received, nonce, fault, usage)


async def main(port):
    loop = asyncio.get_running_loop()
    reset()
    server = await loop.create_server(lambda: Conn(loop), "127.0.0.1", port, backlog=4096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--port", type=int, default=9100)
    args = ap.parse_args()
    try:
        if uvloop:
            uvloop.run(main(args.port))
        else:
            asyncio.run(main(args.port))
    except KeyboardInterrupt:
        pass
