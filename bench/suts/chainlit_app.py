"""Chainlit's documented streaming chat with the OpenAI client."""

import os

import chainlit as cl
from openai import AsyncOpenAI  # noqa: TID253

client = AsyncOpenAI(base_url=os.environ["BENCH_LLM"] + "/v1", api_key="none", max_retries=0)


@cl.on_message
async def main(message: cl.Message):
    msg = cl.Message(content="")
    stream = await client.chat.completions.create(
        model=os.environ["BENCH_MODEL"], messages=cl.chat_context.to_openai(), stream=True
    )
    async for part in stream:
        if part.choices and (token := part.choices[0].delta.content):
            await msg.stream_token(token)
    await msg.update()
