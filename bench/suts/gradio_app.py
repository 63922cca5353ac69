"""Gradio ChatInterface with an async streaming function.   python gradio_app.py PORT

BENCH_GRADIO_LIMIT: the queue's concurrency_limit (default none; Gradio's own is 1).
"""

import os
import sys

import gradio as gr
from openai import AsyncOpenAI  # noqa: TID253

client = AsyncOpenAI(base_url=os.environ["BENCH_LLM"] + "/v1", api_key="none", max_retries=0)
LIMIT = os.environ.get("BENCH_GRADIO_LIMIT", "none")


def plain(content):
    if isinstance(content, str):
        return content
    return "".join(p.get("text", "") for p in content)


async def respond(message, history):
    messages = [{"role": m["role"], "content": plain(m["content"])} for m in history]
    messages.append({"role": "user", "content": message})
    said = ""
    stream = await client.chat.completions.create(model=os.environ["BENCH_MODEL"], messages=messages, stream=True)
    async for part in stream:
        if part.choices and part.choices[0].delta.content:
            said += part.choices[0].delta.content
            yield said


demo = gr.ChatInterface(respond, concurrency_limit=None if LIMIT == "none" else int(LIMIT), api_name="chat")
demo.queue(max_size=None).launch(server_name="127.0.0.1", server_port=int(sys.argv[1]), quiet=True, max_threads=100)
