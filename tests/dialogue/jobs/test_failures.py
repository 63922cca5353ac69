"""What is told of a failure, and what stays in the ledger and in the log."""

import json
from collections import Counter

import pytest

from dialogue.jobs.calls import GivenUp, Question
from dialogue.jobs.failures import QUOTING, commonest_details, internal_error, name_model, public_detail
from dialogue.providers.base import Message, ModelSettings, ProviderError

TOLD = 'I cannot tell anybody.\nMy name is "Ann" and I live at the lake.'
IN_CHINESE = "我不想再去上班了，也不敢告诉家里人。"


def given_up(detail: str, *sent: str) -> GivenUp:
    asked = ModelSettings("openai_compatible", model="gpt-x")
    question = Question("reply", tuple(Message("user", text) for text in sent), asked, who="arm amber")
    return GivenUp(ProviderError("client_error", detail, permanent=True), "permanent", question)


@pytest.mark.parametrize(
    "detail",
    [
        f"HTTP 422: {TOLD}",
        f"HTTP 422: {json.dumps({'input': TOLD})}",
        f"HTTP 422: {json.dumps(json.dumps({'input': TOLD}))}",
        f"HTTP 422: {json.dumps({'input': IN_CHINESE})}",
        f"HTTP 422: {IN_CHINESE}",
    ],
)
def test_words_of_a_server_that_quote_what_it_was_sent_are_not_told(detail: str) -> None:
    assert public_detail(given_up(detail, TOLD, IN_CHINESE)) == QUOTING


@pytest.mark.parametrize("detail", ["", "Asked to answer 404.", "The model `gpt-x` does not exist: I cannot find it."])
def test_other_words_of_a_server_are_told(detail: str) -> None:
    assert public_detail(given_up(detail, TOLD, IN_CHINESE)) == detail


def test_what_is_ours_is_told_as_it_is() -> None:
    assert public_detail(ProviderError("unparseable", "The state cannot be read.")) == "The state cannot be read."


def test_it_is_told_whose_model_failed() -> None:
    assert name_model(given_up("No.")) == "arm amber (gpt-x)"
    assert name_model(ProviderError("broken", "ValueError")) == ""


def test_fault_of_ours_is_told_by_its_place_without_its_words() -> None:
    try:
        raise ValueError(TOLD)
    except ValueError as error:
        told = internal_error(error)
    assert (told.status, told.permanent) == ("broken", True)
    assert told.detail.startswith("ValueError in test_failures.py, line ")
    assert "Ann" not in told.detail


def test_the_commonest_detail_is_told_on_one_line_and_no_refusal_in_its_own_words() -> None:
    failed = Counter(
        {
            ("client_error", "Seldom."): 1,
            ("client_error", "Often,\n\nand so on."): 3,
            ("timeout", ""): 2,
            ("server_error", "word " * 100): 1,
            ("refused", "I cannot help with your plan to leave Ann."): 9,
        }
    )
    told = commonest_details(failed)
    assert set(told) == {"client_error", "server_error"}
    assert told["client_error"] == "Often, and so on."
    assert len(told["server_error"]) <= 300
    assert told["server_error"].endswith("word …")
