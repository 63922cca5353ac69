"""Read a study file (`study_file.py`) → StudySpec. Pure but for reading the files that it names."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dialogue.documents import DocumentError, Place, parse_toml, read_bytes
from dialogue.documents import translate as _
from dialogue.input_checks import is_storable
from dialogue.judges import roles
from dialogue.languages import CODES
from dialogue.prompts import JUDGE, find_faults, read_prompt
from dialogue.providers.base import copy_settings
from dialogue.schema import FaultList, Rule, check
from studies.design.card_files import CardFileError, CardSpec, read_cards
from studies.design.contradictions import contradictions
from studies.design.contrasts import resolve_contrasts
from studies.design.spec import CONSENT_KEYS, OPENERS, SWITCHES, ArmSpec, ConsentSpec, PromptSpec, StudySpec
from studies.design.study_file import ArmFile, ConsentFile, JudgeFile, ModelFile, StudyFile, Surroundings

INSTRUMENTS = Path(__file__).resolve().parents[2] / "fixtures" / "instruments"
SUPPORTER = "supporter"  # the prompt of arms that name none
SEEKER = "seeker"  # the key of the model that plays simulated seekers
EVALUATOR = "evaluator"  # the key of the model that rates for them
LARGEST_FILE = 1_000_000  # bytes, of a study file or a prompt: a hundred times ours
AS_THEY_ARE = (
    *("key", "title", "languages", "country", "contact", "oncall_email", "selection"),
    *("keep_declined_days", "one_browser", "gone_after_days"),
    *("steps", "chat", "order", "display", "role_play", "safety", "payment", "retention", "alt_test"),
)


class StudyFileError(DocumentError):
    """Every fault of a study file; as text one line for each, `FILE: place: what is wrong`."""


def read_study(
    path: Path,
    *,
    instruments: Collection[str],
    prompt_folder: Path | None,
    instrument_folder: Path = INSTRUMENTS,
    reserved_keys: Collection[str] = (),
) -> StudySpec:
    """Read a study file. Raise StudyFileError with everything that is wrong with it.

    `instruments` are the ids that a study may use; `reserved_keys` may not be its own key. Prompts are looked for
    beside the file, then in `prompt_folder`; files outside these folders are not read."""
    try:
        document = parse_toml(read_bytes(path, limit=LARGEST_FILE), path)
    except DocumentError as error:
        raise StudyFileError(path, error.faults) from error
    prompt_folders = (path.parent, prompt_folder) if prompt_folder else (path.parent,)
    card_folders = (path.parent, instrument_folder)
    around = Surroundings(languages_of(document), instruments, prompt_folders, card_folders, reserved_keys)
    file, fault_list = check(StudyFile, document, around=around)
    if file is not None:
        prompts = find_prompts(file, around)
        spec = study_from(file, {place: texts for place, texts, _wrong in prompts})
        contrasts, wrong_contrasts = resolve_contrasts(file.primary, spec, instruments, instrument_folder)
        spec = replace(spec, primary=contrasts)
        fault_list.add((place, fault) for place, _texts, wrong in prompts for fault in wrong)
        fault_list.add(card_faults(file, around))
        fault_list.add(wrong_contrasts)
        fault_list.add(drop_reported(contradictions(spec, instruments, instrument_folder), fault_list))
    if faults := fault_list.faults():
        raise StudyFileError(path, faults)
    return spec


def drop_reported(faults: Iterable[Rule], fault_list: FaultList) -> list[Rule]:
    """Return the faults but for those of consent values that are reported already, as lacking a language."""
    return [(place, text) for place, text in faults if not (is_consent_value(place) and fault_list.is_faulty(place))]


def is_consent_value(place: Place) -> bool:
    return len(place) == 2 and place[0] == "consent" and place[1] not in CONSENT_KEYS


def languages_of(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the study's languages as far as they can be read; all that there are where none can."""
    languages = document.get("languages")
    return tuple(one for one in languages if one in CODES) if isinstance(languages, list) and languages else CODES


def study_from(file: StudyFile, prompts: Mapping[Place, Mapping[str, str]]) -> StudySpec:
    """Return the study that a file says, but for its contrasts. `prompts`: the texts by the place that names them."""
    usual = prompts.get(("prompts", SUPPORTER), {})
    return StudySpec(
        **{name: getattr(file, name) for name in AS_THEY_ARE},
        open_enrolment=file.open,
        consent=consent_from(file.consent) if file.consent else None,
        arms=tuple(
            arm_from(arm, file, prompts.get(("arms", number, "prompt"), usual)) for number, arm in enumerate(file.arms)
        ),
        judges=tuple(
            judge_from(judge, file, prompts.get(("judges", number, "prompt"), {}))
            for number, judge in enumerate(file.judges)
        ),
        prompts={name: PromptSpec(named, prompts.get(("prompts", name), {})) for name, named in file.prompts.items()},
        seeker=ArmSpec(**settings_of(file.seeker), key=SEEKER, title={}) if file.seeker else None,
        opens=file.seeker.opens if file.seeker else OPENERS[0],
        evaluator=ArmSpec(**settings_of(file.evaluator), key=EVALUATOR, title={}) if file.evaluator else None,
    )


def consent_from(consent: ConsentFile) -> ConsentSpec:
    """Return the section with what it says for the form's placeholders."""
    return ConsentSpec(
        instrument=consent.instrument,
        version=consent.version,
        providers=consent.providers,
        flags=consent.flags,
        values=dict(consent.__pydantic_extra__),
    )


def arm_from(arm: ArmFile, file: StudyFile, prompt_text: Mapping[str, str]) -> ArmSpec:
    """Return an arm with the texts of its prompt."""
    title = arm.title or dict.fromkeys(file.languages, arm.key)
    return ArmSpec(
        **settings_of(arm),
        key=arm.key,
        title=title,
        prompt=arm.prompt or file.prompts.get(SUPPORTER, ""),
        prompt_text=prompt_text,
        group=arm.group,
        reasoning=arm.reasoning,
    )


def judge_from(judge: JudgeFile, file: StudyFile, prompt_text: Mapping[str, str]) -> ArmSpec:
    """Return a judge with the texts of its prompt. Its own keys stand in `extra`."""
    title = judge.title or dict.fromkeys(file.languages, judge.key)
    own_keys: dict[str, Any] = {name: True for name in SWITCHES if getattr(judge, name)}
    if judge.role not in ("", roles.SEEKER.name):  # judges from before there were roles keep their hash
        own_keys["role"] = judge.role
    return ArmSpec(
        **{**settings_of(judge), "extra": {**judge.extra, **own_keys}},
        key=judge.key,
        title=title,
        prompt=judge.prompt,
        prompt_text=prompt_text,
    )


def settings_of(model: ModelFile) -> dict[str, Any]:
    """Return a model's settings and provider by name."""
    return {**vars(copy_settings(model)), "provider": model.provider}


# What a study file names.


def file_below(folder: Path, name: str) -> Path | None:
    """Return the file of this name; None where there is none, or where it is elsewhere than in this folder or below it
    once links are followed. What a study file names goes to providers, so no other file may be named."""
    file = folder / name
    try:
        return file if file.resolve().is_relative_to(folder.resolve()) and file.is_file() else None
    except (OSError, RuntimeError):  # the name is too long for a file, or links lead in a circle
        return None


def find_prompts(file: StudyFile, around: Surroundings) -> list[tuple[Place, dict[str, str], list[str]]]:
    """Return each place that names a prompt, the prompt's texts, and what is wrong with them."""
    named: list[tuple[Place, str, str]] = [
        *((("arms", number, "prompt"), SUPPORTER, arm.prompt) for number, arm in enumerate(file.arms)),
        *((("judges", number, "prompt"), JUDGE, judge.prompt) for number, judge in enumerate(file.judges)),
        *((("prompts", prompt), prompt, name) for prompt, name in file.prompts.items()),
    ]
    return [(place, *find_prompt(prompt, name, around)) for place, prompt, name in named if name]


def find_prompt(prompt: str, name: str, around: Surroundings) -> tuple[dict[str, str], list[str]]:
    """Return the texts by language of the file that stands for this prompt, and what is wrong with them."""
    texts, wrong = read_prompt_files(name, around)
    return texts, wrong + list(dict.fromkeys(fault for text in texts.values() for fault in find_faults(prompt, text)))


def read_prompt_files(name: str, around: Surroundings) -> tuple[dict[str, str], list[str]]:
    """Return the texts by language, and why some cannot be read. `x.txt` is one text for all languages; `supporter`
    stands for `supporter.en.txt` and `supporter.zh.txt`."""
    for folder in around.prompt_folders:
        if file := file_below(folder, name):
            return read_prompts({"": file})
        by_language = {language: file_below(folder, f"{name}.{language}.txt") for language in CODES}
        if files := {language: file for language, file in by_language.items() if file}:
            lacking = [language for language in around.languages if language not in files]
            wrong = [lacks_language(name, files, language) for language in lacking]
            texts, unread = read_prompts(files)
            return texts, wrong + unread
    sought = _(
        'no file "%(name)s" or "%(name)s.%(language)s.txt" in the folder of the study file or below it, nor among the '
        "prompts",
        name=name,
        language=CODES[0],
    )
    return {}, [sought]


def lacks_language(name: str, files: Collection[str], language: str) -> str:
    """Return that the prompt has files for some languages of the study, and not for this one."""
    there = f"{name}.{'/'.join(files)}.txt"
    return _("there is %(there)s, but no %(lacking)s", there=there, lacking=f"{name}.{language}.txt")


def read_prompts(files: Mapping[str, Path]) -> tuple[dict[str, str], list[str]]:
    """Return the texts of files by language, and why some cannot be read."""
    texts, wrong = {}, []
    for language, file in files.items():
        try:
            texts[language] = read_bounded_prompt(file)
        except (OSError, ValueError) as error:
            wrong.append(_("%(file)s cannot be read: %(reason)s", file=file.name, reason=error))
    return texts, wrong


def read_bounded_prompt(file: Path) -> str:
    """Return the text of a prompt. Raise ValueError for one that is too large or cannot be kept."""
    if file.stat().st_size > LARGEST_FILE:
        raise ValueError(_("it is larger than %(size)s MB", size=LARGEST_FILE // 1_000_000))
    text = read_prompt(file).text
    if not is_storable(text):
        raise ValueError(_("it contains a character that cannot be stored"))
    return text


def card_file(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the file of a name with or without its ending; never one in another folder."""
    files = (file_below(folder, each) for folder in folders for each in (name, f"{name}.json"))
    return next((file for file in files if file and name == Path(name).name), None)


def card_faults(file: StudyFile, around: Surroundings) -> list[Rule]:
    """Return what is wrong with the files of role cards, each and together."""
    place = ("role_play", "cards")
    faults: list[Rule] = []
    cards: list[CardSpec] = []
    for number, name in enumerate(file.role_play.cards):
        path = card_file(name, around.card_folders)
        if path is None:
            wrong = _('no file "%(name)s" or "%(name)s.json" beside the study file or among the instruments', name=name)
            faults.append(((*place, number), wrong))
            continue
        try:
            cards += read_cards(path, min_turns=file.chat.min_turns)
        except CardFileError as error:
            faults += [((*place, number), f"{path.name}: {fault}") for fault in error.faults]
    keys = [card.key for card in cards]
    faults += [
        (place, _('two cards have the id "%(key)s"', key=key))
        for key in sorted({key for key in keys if keys.count(key) > 1})
    ]
    lacking = [one for one in around.languages if cards and one not in [card.language for card in cards]]
    return faults + [(place, _("there is no card in %(language)s", language=language)) for language in lacking]
