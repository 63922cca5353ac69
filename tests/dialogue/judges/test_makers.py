import pytest

from dialogue.judges.makers import maker_of


@pytest.mark.parametrize(
    ("model", "maker"),
    [
        ("gpt-4o-2024-08-06", "OpenAI"),
        ("o3-mini", "OpenAI"),
        ("Qwen/Qwen2.5-72B-Instruct", "Alibaba"),
        ("deepseek-chat", "DeepSeek"),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "DeepSeek"),  # of several the first
        ("meta-llama/Llama-3.1-8B", "Meta"),
        ("yi-34b-chat", "01.AI"),
        ("attuned", ""),
        ("my-gptlike", ""),  # never a part of a longer word
        ("foo3", ""),
        ("", ""),
    ],
)
def test_maker_is_known_by_the_models_name(model: str, maker: str) -> None:
    assert maker_of(model) == maker
