"""Providers of models, with what they need in common. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SERVER = "openai_compatible"


@dataclass(frozen=True)
class Preset:
    """A provider: the settings that it fills in."""

    key: str
    name: str
    values: Mapping[str, Any]


def make_preset(key: str, name: str, base_url: str, variable: str, provider: str, model: str) -> Preset:
    values = {"kind": SERVER, "base_url": base_url, "model": model, "api_key_env": variable, "provider": provider}
    return Preset(key, name, {name: value for name, value in values.items() if value})


# Addresses as the providers document them for clients of OpenAI's interface. Model names are examples.
PRESETS = (
    make_preset("openai", "OpenAI", "https://api.openai.com/v1", "OPENAI_API_KEY", "OpenAI", "gpt-4o"),
    make_preset(
        *("azure", "Azure OpenAI", "https://RESOURCE.openai.azure.com/openai/v1", "AZURE_OPENAI_API_KEY"),
        *("Microsoft", "gpt-4o"),
    ),
    make_preset(
        *("anthropic", "Anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "Anthropic"),
        "claude-sonnet-4-5",
    ),
    make_preset(
        *("deepseek", "DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "DeepSeek", "deepseek-chat"),
    ),
    make_preset(
        *("qwen", "Qwen (Alibaba Cloud)", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
        *("Alibaba Cloud", "qwen-plus"),
    ),
    make_preset(
        *("openrouter", "OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "OpenRouter"),
        "openai/gpt-4o",
    ),
    make_preset("vllm", "vLLM", "http://127.0.0.1:8001/v1", "", "our own institution", "MODEL"),
    make_preset("ollama", "Ollama", "http://127.0.0.1:11434/v1", "", "our own institution", "llama3.1"),
    Preset("scripted", "Script (no network)", {"kind": "scripted"}),
)


def find_preset(key: str) -> Preset | None:
    """Return the preset of this key; None where there is none."""
    return next((preset for preset in PRESETS if preset.key == key), None)
