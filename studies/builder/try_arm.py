"""The page on which one talks with an arm of a draft. It counts as nothing: the conversation is kept in the page alone,
and the ledger has a row for each call."""

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_http_methods

from dialogue.chat.supporters import system_prompt
from dialogue.jobs.calls import Question
from dialogue.models import Call
from dialogue.providers.base import Message, copy_settings
from dialogue.providers.prices import load_prices
from dialogue.schema import check
from studies.builder.document import StudyDocument
from studies.builder.draft_pages import read_document, show_draft
from studies.builder.drafts import folder_of, get_languages
from studies.design.reading import SUPPORTER, read_prompt_files
from studies.design.study_file import ArmFile, Surroundings
from studies.models import StudyDraft
from studies.setup.model_checks import ARM, Candidate, try_model
from studies.workbench.access import researchers_only
from studies.workbench.model_check_words import describe_check

ARMS = "arms"
LONGEST = 20_000  # characters of what the page sends back; a study's longest conversation has fewer


@require_http_methods(["GET", "POST"])
@researchers_only
def try_arm(request: HttpRequest, draft: int, number: int) -> HttpResponse:
    """Talk with an arm of the draft. Each reply is shown with its times, tokens and price, or with what went wrong.

    Unlike other pages of a draft it holds no lock: an answer may take a minute, and the draft does not change.
    """
    return talk_page(request, get_object_or_404(StudyDraft, pk=draft), number)


def talk_page(request: HttpRequest, draft: StudyDraft, number: int) -> HttpResponse:
    document = read_document(draft)
    if document is None or number >= document.count((ARMS,)):
        raise Http404
    languages = get_languages(document)
    language = request.POST.get("language", languages[0])
    if language not in languages:
        raise Http404
    arm, faults = read_arm(draft, document, number, language)
    turns = read_talk(request.POST.get("said", ""))
    text = request.POST.get("text", "").strip()
    words = None
    if request.method == "POST" and arm and not faults and text:
        words = reply_to(draft, arm, turns, text, language)
        if words.answers:
            turns = [*turns, [text, words.check["text"]]]
            text = ""
    context = {
        "number": number,
        "arm_key": document.get((ARMS, number, "key")) or str(number + 1),
        "arm_faults": faults,
        "turns": turns,
        "turns_json": json.dumps(turns, ensure_ascii=False),
        "text": text,
        "words": words,
        "languages": languages,
        "language": language,
    }
    return show_draft(request, draft, "builder_try", context)


def read_arm(
    draft: StudyDraft, document: StudyDocument, number: int, language: str
) -> tuple[tuple[ArmFile, str] | None, list[str]]:
    """Return the arm with its system prompt, whatever else the draft still lacks; or what is wrong with it."""
    with folder_of(draft) as folder:
        around = Surroundings(get_languages(document), (), (folder, settings.FIXTURES / "prompts"), (), ())
        arm, fault_list = check(ArmFile, document.get((ARMS, number)), around=around)
        if arm is None or fault_list.faults():
            return None, [f"{fault.place}: {fault.message}".removeprefix(": ") for fault in fault_list.faults()]
        name = arm.prompt or document.get(("prompts", SUPPORTER)) or ""
        texts, wrong = read_prompt_files(name, around) if name else ({}, [])
    return (arm, system_prompt(texts.get(language) or texts.get("", ""), "")), wrong


def read_talk(sent: str) -> list[list[str]]:
    """Return the pairs of message and reply so far, as the page has kept them; empty if it has kept none."""
    try:
        pairs: Any = json.loads(sent[:LONGEST] or "[]")
    except (ValueError, RecursionError):
        return []
    is_talk = isinstance(pairs, list) and all(
        isinstance(pair, list) and len(pair) == 2 and all(isinstance(words, str) for words in pair) for pair in pairs
    )
    return pairs if is_talk else []


def reply_to(
    draft: StudyDraft, arm: tuple[ArmFile, str], turns: Sequence[Sequence[str]], text: str, language: str
) -> Any:
    """Return the words about the arm's answer."""
    row, prompt = arm
    messages = [Message("system", prompt)] if prompt else []
    for message, reply in turns:
        messages += [Message("user", message), Message("assistant", reply)]
    arm_settings = copy_settings(row)
    question = Question(
        purpose=Call.Purpose.CHECK,
        messages=(*messages, Message("user", text)),
        settings=arm_settings,
        provider=row.provider,
        who=f"arm {row.key}",
        language=language,
        noted={"draft": draft.pk, "tried": row.key},
    )
    result = try_model(Candidate(ARM, row.key, row.provider, arm_settings), question)
    return describe_check(result.as_json(), load_prices(settings.PRICES).currency)
