"""The pages of single sections: fields, lists of tables, and files beside the study file."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from dialogue.documents import Place
from dialogue.input_checks import int_from
from dialogue.templatetags.languages import active_language, in_brackets, listed
from studies.builder.conflicts import get_hashes, get_rows_hash, list_lost, merge_typed, read_hashes
from studies.builder.consent import add_placeholders
from studies.builder.document import StudyDocument, walk_rows
from studies.builder.draft_pages import draft_page, read_document, show_draft, store
from studies.builder.drafts import LANGUAGE_NAMES, CheckedDraft, check_draft, get_languages
from studies.builder.fields import Field, Part, UnreadError, faults_at, make_fields, read_typed, show, show_unread
from studies.builder.files import list_files, prompt_fields, save_file
from studies.builder.pasted_keys import forget_pasted_keys
from studies.builder.presets import PRESETS, Preset, find_preset
from studies.builder.sections import CONSENT, NAMES, PROMPTS, Section, find_section, get_sections
from studies.builder.translating import leave_to_translate
from studies.instruments.loading import RATING_SCALE, instrument_ids, load
from studies.models import Participation, StudyDraft
from studies.participation.language import instrument_language
from studies.participation.step_kinds import KINDS

STEPS = "steps"
OF_PROVIDER = ("model", "base_url", "api_key_env", "provider")  # what every provider has its own of, or none
OF_MODEL = ("title", "group")  # what describes a model to people and in tables
REMOVED_WORDS = {
    "title": gettext_lazy("its name for people"),
    "group": gettext_lazy("its group"),
    "model": gettext_lazy("the model"),
    "base_url": gettext_lazy("the address"),
    "api_key_env": gettext_lazy("the variable of the key"),
    "provider": gettext_lazy("the company"),
}
MODELS = ("arms", "judges", "seeker", "evaluator")  # the sections that have a model


@dataclass(frozen=True)
class Row:
    """A table of a list, as one line of its page."""

    number: int
    name: str
    about: str
    faults: Sequence[str]


def get_section(slug: str) -> Section:
    section = find_section(slug)
    if section is None:
        raise Http404
    return section


def is_editable(section: Section, document: StudyDocument | None) -> TypeGuard[StudyDocument]:
    """Return whether fields can show the section; else only its text can be mended."""
    return document is not None and (not section.is_list or document.has_tables(section.place))


def make_section_fields(section: Section, place: Place, document: StudyDocument, checked: CheckedDraft) -> list[Field]:
    """Return the fields of a section, or of one table of a list."""
    if section.slug == PROMPTS:
        return prompt_fields(document, checked.faults)
    languages = get_languages(document)
    fields = make_fields(section.schema, place, document, languages, checked.faults)
    return add_placeholders(fields, document, languages, checked.faults) if section.slug == CONSENT else fields


def walk_fields(document: StudyDocument) -> Iterator[Field]:
    """Yield the fields of all sections that fields can show."""
    for section in get_sections():
        if section.slug == PROMPTS or not is_editable(section, document):
            continue
        rows = [(*section.place, number) for number in range(document.count(section.place))]
        for place in rows if section.is_list else [section.place]:
            yield from make_section_fields(section, place, document, CheckedDraft(None))


@require_http_methods(["GET", "POST"])
@draft_page
def section(request: HttpRequest, draft: StudyDraft, slug: str) -> HttpResponse:
    """Show a section: its fields, or the tables of its list."""
    section, document = get_section(slug), read_document(draft)
    if not is_editable(section, document):
        return redirect("research-draft-text", draft.pk)
    if section.is_list:
        return list_page(request, draft, section, document)
    return fields_page(request, draft, section, section.place, document)


@require_GET
def list_page(request: HttpRequest, draft: StudyDraft, section: Section, document: StudyDocument) -> HttpResponse:
    return show_list(request, draft, section, document)


def show_list(
    request: HttpRequest,
    draft: StudyDraft,
    section: Section,
    document: StudyDocument,
    *,
    lost: Sequence[Part] = (),
    status: int = 200,
) -> HttpResponse:
    checked = check_draft(draft)
    context = {
        "lost": lost,
        "section": section,
        "rows": list(describe_rows(section, document, checked)),
        "seen": get_rows_hash(section, document),
        "presets": PRESETS if section.slug in MODELS else (),
        "faults": checked.faults.get(section.slug, ()),
    }
    return show_draft(request, draft, "builder_rows", context, checked, status=status)


def show_typed_for_nothing(
    request: HttpRequest, draft: StudyDraft, section: Section, document: StudyDocument
) -> HttpResponse:
    """Show the list with what was typed into a table that someone else has removed meanwhile."""
    message = _(
        "Not saved: this entry was removed elsewhere while you were writing. To keep what you wrote, add a new entry "
        "and copy it there."
    )
    messages.error(request, message)
    lost = list_lost((), request.POST, read_hashes(request.POST.get("seen", "")))
    return show_list(request, draft, section, document, lost=lost, status=409)


def describe_rows(section: Section, document: StudyDocument, checked: CheckedDraft) -> Iterator[Row]:
    for number, row in enumerate(walk_rows(document, section.place)):
        if section.slug == STEPS:
            yield Row(number, *describe_step(row), faults_at(checked.faults, (*section.place, number)))
            continue
        name = next((show(row[key]) for key in NAMES if row.get(key)), "")
        facts = [
            show(value) for key, value in row.items() if isinstance(value, str | int | float) and show(value) != name
        ]
        yield Row(number, name, " · ".join(facts[:4]), faults_at(checked.faults, (*section.place, number)))


def describe_step(step: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of a step, and its details in one line."""
    kind, instrument, track = (show(step.get(key)) for key in ("kind", "instrument", "track"))
    title = load(instrument).title[instrument_language()] if instrument in instrument_ids() else instrument
    tracks = dict(Participation.Track.choices)
    facts = [title, tracks.get(track, track if track != "all" else ""), show(step.get("mode"))]
    return str(KINDS[kind].label) if kind in KINDS else kind, " · ".join(str(each) for each in facts if each)


@require_http_methods(["GET", "POST"])
@draft_page
def row(request: HttpRequest, draft: StudyDraft, slug: str, number: int) -> HttpResponse:
    """Show the fields of one table of a list."""
    section, document = get_section(slug), read_document(draft)
    if not is_editable(section, document):
        return redirect("research-draft-text", draft.pk)
    if not section.is_list:
        raise Http404
    if number >= document.count(section.place):
        if request.method == "POST":
            return show_typed_for_nothing(request, draft, section, document)
        raise Http404
    return fields_page(request, draft, section, (*section.place, number), document, number)


def fields_page(
    request: HttpRequest,
    draft: StudyDraft,
    section: Section,
    place: Place,
    document: StudyDocument,
    number: int | None = None,
) -> HttpResponse:
    """Show fields, or take over what was typed. What cannot stand in the file at all comes again as it was typed, and
    all of it does where someone else has changed the section meanwhile."""
    page = FieldsPage(request, draft, section, place, document, number)
    if request.method != "POST":
        return page.show()
    seen = read_hashes(request.POST.get("seen", ""))
    saved = make_section_fields(section, place, document, CheckedDraft(None))
    if get_hashes(saved) != seen:
        return page.show_clash(seen)
    earlier = get_languages(document)
    unread = write_fields(document, saved, request.POST)
    if added := [code for code in get_languages(document) if code not in earlier]:
        leave_to_translate(document, walk_fields(document), earlier)
    if preset := find_preset(request.POST.get("preset", "")):
        tell_preset(request, preset, fill_in_preset(document, place, preset, saved))
    if number is None and place and document.get(place) == {}:
        document.set(place, None)  # the study has no such section
    has_changed = save_text(draft, document.text)
    tell_saved(request, page.fields, unread, has_changed=has_changed)
    tell_untranslated(request, page.checked_draft, added)
    if unread:
        return page.show_unread(unread)
    return make_questionnaire(section, request.path) if "make" in request.POST else redirect(request.path)


def make_questionnaire(section: Section, back: str) -> HttpResponse:
    """Lead to the form of a new questionnaire, and from there back to where it can be chosen. Conversations are rated
    with rating forms."""
    kind = "questionnaire" if section.slug == STEPS else RATING_SCALE
    return redirect(f"{reverse('research-questionnaire-new')}?{urlencode({'kind': kind, 'back': back})}")


@dataclass(frozen=True)
class FieldsPage:
    """The page of a section, or of one table of a list, as the draft has it now."""

    request: HttpRequest
    draft: StudyDraft
    section: Section
    place: Place
    document: StudyDocument
    number: int | None

    @cached_property
    def checked_draft(self) -> CheckedDraft:
        return check_draft(self.draft)

    @cached_property
    def fields(self) -> list[Field]:
        return make_section_fields(self.section, self.place, self.document, self.checked_draft)

    @property
    def first_instrument(self) -> str:
        """Return the first field that chooses a questionnaire; a consent form is something else."""
        choosing = () if self.section.slug == CONSENT else self.fields
        return next((one.name for one in choosing if one.is_instrument), "")

    def show(self, status: int = 200, **more: object) -> HttpResponse:
        is_section = self.number is None
        context = {
            "section": self.section,
            "fields": self.fields,
            "seen": json.dumps(get_hashes(self.fields)),
            "first_instrument": self.first_instrument,
            "preset_chosen": self.request.POST.get("preset", ""),
            "number": self.number,
            "position": None if self.number is None else self.number + 1,
            "files": list_files(self.draft) if self.section.slug == PROMPTS else (),
            "faults": self.checked_draft.faults.get(self.section.slug, ()) if is_section else (),
            "presets": PRESETS if self.section.slug in MODELS else (),
            **more,
        }
        return show_draft(self.request, self.draft, "builder_section", context, self.checked_draft, status=status)

    def show_unread(self, unread: Mapping[str, str]) -> HttpResponse:
        """Show what could not be taken over as it was typed, with what is wrong with it."""
        fields = [retype(one, self.request.POST, unread) for one in self.fields]
        return self.show(400, fields=fields, unread=len(unread))

    def show_clash(self, seen: Mapping[str, str]) -> HttpResponse:
        """Show what was typed beside what someone else has saved since the page was opened (`seen`)."""
        message = _(
            "Not saved: this section was changed elsewhere while you were writing. What you wrote is below. Marked "
            "fields also show what is saved now. Save again to keep what stands in the fields."
        )
        messages.error(self.request, message)
        posted = self.request.POST
        fields = merge_typed(self.fields, posted, seen)
        return self.show(409, fields=fields, lost=list_lost(self.fields, posted, seen))


def save_text(draft: StudyDraft, text: str) -> bool:
    """Store the file; return whether it has changed."""
    has_changed = draft.change(text=text)
    if has_changed:
        forget_pasted_keys(draft)
        draft.save()
    return has_changed


def tell_saved(request: HttpRequest, fields: Sequence[Field], unread: Mapping[str, str], *, has_changed: bool) -> None:
    """Show one message about saving: which fields are not saved, how many still have a mistake, or neither."""
    left = sum(1 for one in fields if one.faults)
    if unread:
        message = _("Not saved: %(fields)s. Correct the marked fields below; the other fields are saved.")
        titles = [f"{one.short_title}{in_brackets(one.key)}" for one in fields if one.name in unread]
        messages.error(request, message % {"fields": active_language().semicolon.join(titles)})
    elif left:
        message = ngettext(
            "Saved as a draft. %(left)d field still has a mistake.",
            "Saved as a draft. %(left)d fields still have a mistake.",
            left,
        )
        messages.warning(request, message % {"left": left})
    elif has_changed:
        messages.success(request, _("Saved."))
    else:
        messages.info(request, _("Nothing has changed."))


def tell_untranslated(request: HttpRequest, checked: CheckedDraft, added: Sequence[str]) -> None:
    """Show a message about the texts that languages lack which the draft has just got."""
    for code in added:
        lacking = sum(1 for place in checked.faults if place.endswith(f".{code}"))
        if lacking:
            message = ngettext(
                "%(lacking)d text is missing in %(language)s: the page “Draft” names it.",
                "%(lacking)d texts are missing in %(language)s: the page “Draft” names each.",
                lacking,
            )
            messages.warning(request, message % {"lacking": lacking, "language": LANGUAGE_NAMES[code]})


def write_fields(document: StudyDocument, fields: Sequence[Field], posted: QueryDict) -> dict[str, str]:
    """Write what was typed; return what is wrong with what could not be, by the name of its input."""
    unread = {}
    for one in fields:
        try:
            document.set(one.place, read_typed(one, posted))
        except UnreadError as error:
            unread[one.name] = str(error)
    return unread


def fill_in_preset(document: StudyDocument, place: Place, preset: Preset, before: Sequence[Field]) -> list[str]:
    """Write the settings of a provider, and remove those of the earlier one that it does not have; return the keys of
    what was removed. A title or a group stays if it was typed just now, or if the model is the same."""
    saved = {one.key: one.value for one in before}
    values = {key: preset.values.get(key) for key in (*preset.values, *OF_PROVIDER)}
    if values["model"] != saved.get("model"):
        values |= {key: None for key in OF_MODEL if document.get((*place, key)) == saved.get(key)}
    removed = [key for key, value in values.items() if value is None and document.get((*place, key))]
    for key, value in values.items():
        document.set((*place, key), value)
    return removed


def tell_preset(request: HttpRequest, preset: Preset, removed: Sequence[str]) -> None:
    """Show a message about the preset, and one about removed settings of the earlier model."""
    messages.info(request, _("Filled in: the usual settings of %(name)s.") % {"name": preset.name})
    if removed:
        message = _("Removed, because it described the earlier model: %(fields)s. Write it again where you need it.")
        messages.warning(request, message % {"fields": listed(REMOVED_WORDS[key] for key in removed)})


def retype(one: Field, posted: QueryDict, unread: Mapping[str, str]) -> Field:
    """Return a field that could not be taken over, as it was typed."""
    return show_unread(one, posted, unread[one.name]) if one.name in unread else one


@require_POST
@draft_page
def change_rows(request: HttpRequest, draft: StudyDraft, slug: str) -> HttpResponse:
    """Add, copy, move or remove a table of a list."""
    section, document = get_section(slug), read_document(draft)
    if not is_editable(section, document):
        return redirect("research-draft-text", draft.pk)
    if not section.is_list:
        raise Http404
    if request.POST.get("seen") != get_rows_hash(section, document):
        messages.error(request, _("Not saved: this list was changed elsewhere since the page was opened."))
        return redirect("research-draft-section", draft.pk, slug)
    act, _sign, written = request.POST.get("act", "").partition(":")
    if act == "add":
        preset = find_preset(request.POST.get("preset", ""))
        number = document.add_row(section.place, preset.values if preset else first_values(section))
        if section.slug == STEPS and document.get((STEPS, number - 1, "kind")) == "debrief":  # which must stay the last
            document.move_row(section.place, number, -1)
            number -= 1
        store(request, draft, text=document.text)
        return redirect("research-draft-row", draft.pk, slug, number)
    number = int(written) if written.isdigit() else -1
    if not 0 <= number < document.count(section.place):
        raise Http404
    if act == "to":
        move_to(document, section.place, number, request.POST.get("place"))
    else:
        change_row(document, section.place, act, number)
    store(request, draft, text=document.text)
    return redirect("research-draft-section", draft.pk, slug)


def first_values(section: Section) -> dict[str, str]:
    """Return the values of a new table. A new step is a questionnaire until another kind is chosen."""
    return {"kind": "questionnaire"} if section.slug == STEPS else {}


def change_row(document: StudyDocument, section_place: Place, act: str, number: int) -> None:
    if act == "up":
        document.move_row(section_place, number, -1)
    elif act == "down":
        document.move_row(section_place, number, 1)
    elif act == "remove":
        document.remove_row(section_place, number)
    elif act == "copy":
        values = document.get((*section_place, number))
        key = values.get("key")
        document.add_row(section_place, {**values, "key": f"{key}_copy"} if key else values)


def move_to(document: StudyDocument, section_place: Place, number: int, written: str | None) -> None:
    """Move a table to another place in its list, as where it was dropped."""
    place = int_from(written, 0, document.count(section_place) - 1)
    if place is None:
        raise Http404
    document.move_row(section_place, number, place - number)


@require_POST
@draft_page
def beside(request: HttpRequest, draft: StudyDraft) -> HttpResponse:
    """Store or remove a file beside the study file."""
    wrong = save_file(draft, request.POST)
    if wrong:
        messages.error(request, wrong)
    else:
        draft.save()
        messages.success(request, _("Saved."))
    return redirect("research-draft-section", draft.pk, PROMPTS)
