"""The role cards of a study: to be read, written, imported and retired; and how often each was given out."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from studies.design.behaviours import behaviours, presets
from studies.design.card_files import CardFileError, CardSpec, parse_cards
from studies.models import Card, Study
from studies.participation import counts
from studies.participation.language import CODES, instrument_language
from studies.role_play.card_form import BEHAVIOUR, CardForm
from studies.role_play.shown_card import ShownCard, show_card
from studies.setup.cards import StoredCards, store_cards
from studies.workbench import labels
from studies.workbench.access import show, study_page
from studies.workbench.seen import get_hash, tell_changed


@dataclass(frozen=True)
class CardRow:
    """A row of the list of cards.

    `intensities`: in the order of the five behaviours; `uses`: conversations with the card; `arms`: their arms.
    """

    card: Card
    content: ShownCard
    condition: str
    intensities: list[int]
    uses: int
    arms: list[str]


class ImportForm(forms.Form):
    file = forms.FileField(label=gettext_lazy("JSON file"))


@require_GET
@study_page
def cards(request: HttpRequest, study: Study) -> HttpResponse:
    return cards_page(request, study, ImportForm())


def cards_page(
    request: HttpRequest, study: Study, form: ImportForm, *, faults: tuple[str, ...] = (), status: int = 200
) -> HttpResponse:
    test = request.GET.get("test", counts.default_data(study))
    context = {
        "test": test,
        "rows": rows_of(study, test),
        "labels": [each.label[instrument_language()] for each in behaviours()],
        "form": form,
        "faults": faults,
    }
    return show(request, study, "cards", context, status=status)


def rows_of(study: Study, test: str) -> list[CardRow]:
    met = defaultdict(list)
    runs = counts.filter_by_test(study.runs.filter(participation__isnull=False).exclude(card=""), test)
    for key, arm in runs.values_list("card", "arm"):
        met[key].append(arm)
    return [row_of(card, met[card.key]) for card in study.cards.all()]


def row_of(card: Card, arms: list[str]) -> CardRow:
    intensities = [card.intensities.get(each.key, 0) for each in behaviours()]
    condition = labels.word(labels.CONDITIONS, card.condition())
    return CardRow(card, show_card(card.as_given()), condition, intensities, len(arms), sorted(set(arms)))


@require_GET
@study_page
def card(request: HttpRequest, study: Study, key: str) -> HttpResponse:
    card = card_for(study, key)
    [row] = [row for row in rows_of(study, "no") if row.card == card]
    language = CODES[card.language]
    with translation.override(language):
        content = show_card(card.as_given())
    return show(
        request, study, "card", {"row": row, "card": content, "card_language": language, "least": least_turns(study)}
    )


def least_turns(study: Study) -> int:
    return study.current().spec().chat.min_turns


def card_for(study: Study, key: str) -> Card:
    return get_object_or_404(study.cards, key=key)


@require_http_methods(["GET", "POST"])
@study_page
def new(request: HttpRequest, study: Study) -> HttpResponse:
    return write_card(request, study, None)


@require_http_methods(["GET", "POST"])
@study_page
def edit(request: HttpRequest, study: Study, key: str) -> HttpResponse:
    return write_card(request, study, card_for(study, key))


def write_card(request: HttpRequest, study: Study, row: Card | None) -> HttpResponse:
    card = spec_of(row) if row else None
    if request.method == "GET" or "preset" in request.POST:
        seen = request.POST.get("seen", "")
        return form_page(request, study, CardForm(initial=with_preset(request), card=card), row, seen=seen)
    form = CardForm(request.POST, card=card, min_turns=least_turns(study))
    if form.is_valid() and row is None and study.cards.filter(key=form.read.key).exists():
        form.add_error("id", _("There is already a card with this key."))
    seen = request.POST.get("seen", "")
    if form.is_valid() and row is not None and seen and seen != get_hash(card):
        form.add_error(None, tell_changed())
        seen = ""
    if not form.is_valid():
        return form_page(request, study, form, row, seen=seen, status=400)
    store_cards(study=study, cards=[form.read])
    messages.success(request, _("Saved. Conversations that already have the card keep its earlier version."))
    return redirect("research-card", study.key, form.read.key)


def with_preset(request: HttpRequest) -> dict[str, Any]:
    """Return the values in the form, with the intensities of the preset whose button was pressed."""
    matches = [preset for preset in presets() if preset.key == request.POST.get("preset")]
    values = {f"{BEHAVIOUR}.{key}": str(value) for preset in matches for key, value in preset.intensities.items()}
    return {**request.POST.dict(), **values}


def spec_of(card: Card) -> CardSpec:
    return CardSpec(card.key, card.language, card.profile, card.intensities)


def form_page(
    request: HttpRequest, study: Study, form: CardForm, row: Card | None, *, seen: str = "", status: int = 200
) -> HttpResponse:
    """Show the form. `seen`: the hash of the card as the person first saw it, where this is not the first page."""
    names = [(preset.key, preset.label[instrument_language()]) for preset in presets()]
    shown = seen or (get_hash(spec_of(row)) if row else "")
    context = {"form": form, "row": row, "presets": names, "seen": shown}
    return show(request, study, "card_form", context, status=status)


@require_POST
@study_page
def import_file(request: HttpRequest, study: Study) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES)
    if not form.is_valid():
        return cards_page(request, study, form, status=400)
    file = form.cleaned_data["file"]
    try:
        stored = store_cards(study=study, cards=parse_cards(file.read(), name=file.name, min_turns=least_turns(study)))
    except CardFileError as error:
        return cards_page(request, study, form, faults=tuple(str(error).splitlines()), status=400)
    messages.success(request, import_message(stored))
    return redirect("research-cards", study.key)


def import_message(stored: StoredCards) -> str:
    return _("%(added)s cards added, %(changed)s changed, %(unchanged)s unchanged.") % vars(stored)


@require_POST
@study_page
def retire(request: HttpRequest, study: Study, key: str) -> HttpResponse:
    """Retire a card, or restore it (`act`)."""
    card = card_for(study, key)
    card.retired = request.POST.get("act") != "restore"
    card.save(update_fields=["retired"])
    message = _("%(card)s is no longer given out.") if card.retired else _("%(card)s is given out again.")
    messages.success(request, message % {"card": card.key})
    return redirect("research-card", study.key, card.key)
