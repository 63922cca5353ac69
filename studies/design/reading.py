"""fixtures/studies/*.toml ↔ StudySpec. Pure but for reading the files it names."""

import json
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from pydantic import ValidationError as SchemaError

from dialogue.incoming import is_storable
from dialogue.prompts import read_prompt
from studies.design.allocation import DESIGNS
from studies.design.card_files import CardFileError, CardSpec, read_cards
from studies.design.contradictions import contradictions
from studies.design.contrasts import read_contrasts
from studies.design.fields import LANGUAGES, Fault, Table, suggestion, unkept_values
from studies.design.safety_rules import RULES, SafetyRules
from studies.design.spec import (
    BLINDING,
    CONSENT_KEYS,
    INTERVIEW,
    OF_JUDGES,
    SELF,
    STEPS,
    TRACKS,
    USUAL_RATERS,
    ArmSpec,
    ChatSpec,
    ConsentSpec,
    OrderSpec,
    RolePlaySpec,
    StepSpec,
    StudySpec,
    Text,
)

INSTRUMENTS = Path(__file__).resolve().parents[2] / "fixtures" / "instruments"

SELECTIONS = ("auto", "manual")
TOPICS = ("keep", "change", "choose")
MODES = (SELF, "interviewer")
ARM_KINDS = ["openai_compatible", "scripted"]  # `studies.setup.model_kinds` adds others
USUAL_INSTRUMENTS = {"training": "comprehension_check", BLINDING: BLINDING, INTERVIEW: "interview_guide"}
SEEKER = "seeker"

DISPLAY_TEXTS = ("hourly_pay", "withdraw_until")
SELF_NAMING = ("flag", "mask")
LONGEST_SILENCE = 3650  # days; with more of them a study means never, and leaves the key out
MOST_TURNS = 1000  # of a conversation
MOST_COUNSELLORS = 1000
MOST_TOKENS = 2**31 - 1  # what the database has room for
LONGEST_FLOOR = 10.0  # seconds: nobody waits longer for a reply to begin for the sake of evenness
RATES = (1.0, 1000.0)  # characters a second

RESPONSE_FORMAT = "response_format"  # what a server calls the form that it is to answer in

LONGEST = {"model": 200, "base_url": 500, "api_key_env": 100, "provider": 200}  # characters
LONGEST_PROMPT = 200  # characters of its file's name

LARGEST_FILE = 1_000_000  # bytes, of a study file or a prompt: a hundred times ours
TOO_LARGE = f"is larger than {LARGEST_FILE // 1_000_000} MB"
LONGEST_EMAIL = 254  # characters (RFC 5321)

VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
TOO_MANY_DIGITS = re.compile(r"[0-9][0-9_]{4300}")  # of a number that Python reads (sys.get_int_max_str_digits)
COUNTRY = re.compile(r"[A-Z]{2}")


class StudyFileError(Exception):
    """Every fault of a study file; as text one line for each, `FILE: key.path: what is wrong`."""

    def __init__(self, path: Path, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(f"{path}: {fault}" for fault in faults))
        self.path = path
        self.faults = list(faults)


@dataclass(frozen=True)
class Surroundings:
    """What the file's names are looked up in."""

    languages: tuple[str, ...]
    instruments: Collection[str]
    prompt_folders: tuple[Path, ...]
    card_folders: tuple[Path, ...]
    taken_keys: Collection[str]


def read_study(
    path: Path,
    *,
    instruments: Collection[str],
    prompt_folder: Path | None,
    instrument_folder: Path = INSTRUMENTS,
    taken_keys: Collection[str] = (),
) -> StudySpec:
    """`instruments` are the ids that a study may use; `taken_keys` may not be its own. Prompts are sought beside the
    file, then in `prompt_folder`; what is not below these folders is not read."""
    faults: list[Fault] = []
    table, prompt_folders = Table(_document(path), "", faults), _folders(path, prompt_folder)
    around = Surroundings(_languages(table), instruments, prompt_folders, (path.parent, instrument_folder), taken_keys)
    spec = _study(table, around, instrument_folder)
    faulty = {fault.key_path for fault in faults}
    faults += [fault for fault in contradictions(spec, instruments, instrument_folder) if fault.key_path not in faulty]
    if faults:
        raise StudyFileError(path, list(dict.fromkeys(faults)))
    return spec


def _folders(path: Path, prompt_folder: Path | None) -> tuple[Path, ...]:
    return (path.parent, prompt_folder) if prompt_folder else (path.parent,)


def _document(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise StudyFileError(path, [Fault("", f"cannot be read: {error.strerror}")]) from error
    if len(content) > LARGEST_FILE:
        raise StudyFileError(path, [Fault("", TOO_LARGE)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyFileError(path, [Fault("", "is not UTF-8: save it so")]) from error
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise StudyFileError(path, [Fault("", "is nested too deeply")]) from error
    except ValueError as error:
        raise StudyFileError(path, [_syntax_fault(text, error)]) from error
    if unkept := list(unkept_values(document)):
        raise StudyFileError(path, unkept)
    return document


def _syntax_fault(text: str, error: ValueError) -> Fault:
    """`error`: of the parser, or of Python, which reads no number of thousands of digits and does not say where."""
    if not isinstance(error, tomllib.TOMLDecodeError):
        digits = TOO_MANY_DIGITS.search(text)
        return Fault(f"line {text.count(chr(10), 0, digits.start()) + 1}" if digits else "", "a number is too long")
    place = re.search(r"\(at line (\d+)", str(error))
    line = place[1] if place else len(text.splitlines())
    return Fault(f"line {line}", f"no TOML: {error}")


# Reading: each value by itself.


def _study(table: Table, around: Surroundings, instrument_folder: Path) -> StudySpec:
    chat = _chat(table.table("chat"), around)
    spec = StudySpec(
        key=_key(table, around),
        title=_required_text(table, "title", around.languages),
        languages=around.languages,
        country=_country(table),
        contact=_required_string(table, "contact"),
        oncall_email=_oncall_email(table),
        selection=table.choice("selection", SELECTIONS, "auto"),
        open_enrolment=table.boolean("open"),
        gone_after_days=_gone_after_days(table),
        consent=_consent(table.table("consent"), around),
        steps=tuple(_step(step, around) for step in table.tables("steps")),
        chat=chat,
        order=_order(table.table("order")),
        arms=tuple(_arm(arm, around) for arm in table.tables("arms")),
        judges=tuple(_judge(judge, around) for judge in table.tables("judges")),
        display=_display(table.table("display"), around),
        role_play=_role_play(table.table("role_play"), around, chat.min_turns),
        seeker=_seeker(table.table("seeker")) if table.has("seeker") else None,
        safety=_safety(table),
    )
    spec = replace(spec, primary=read_contrasts(table, spec, around.instruments, instrument_folder))
    table.refuse_unknown()
    return spec


def _key(table: Table, around: Surroundings) -> str:
    key = table.slug("key")
    if key in around.taken_keys:
        table.fault("key", f'"{key}" is a word of the server\'s own addresses: choose another')
    return key


def _languages(table: Table) -> tuple[str, ...]:
    table.require("languages")
    languages = table.strings("languages")
    if table.values.get("languages") == []:
        table.fault("languages", "is empty")
    for number, language in enumerate(languages, 1):
        if language not in LANGUAGES:
            table.fault(f"languages.{number}", f'"{language}" is none of {", ".join(LANGUAGES)}')
    return tuple(language for language in languages if language in LANGUAGES)


def _required_string(table: Table, key: str) -> str:
    table.require(key)
    return table.string(key)


def _required_text(table: Table, key: str, languages: Collection[str]) -> Text:
    table.require(key)
    return table.text(key, languages)


def _country(table: Table) -> str:
    country = _required_string(table, "country")
    if country and not COUNTRY.fullmatch(country):
        table.fault("country", "must be two capital letters, as in ISO 3166")
    return country


def _gone_after_days(table: Table) -> int | None:
    return table.optional_integer("gone_after_days", minimum=1, maximum=LONGEST_SILENCE)


def _oncall_email(table: Table) -> str:
    """One plain address: it stands in the head of a mail."""
    address = _required_string(table, "oncall_email")
    table.at_most("oncall_email", address, LONGEST_EMAIL)
    try:
        if address:
            validate_email(address)
    except ValidationError:
        table.fault("oncall_email", "must be an e-mail address and nothing else, as oncall@example.org")
    return address


def _consent(table: Table, around: Surroundings) -> ConsentSpec | None:
    if not table.values:
        return None
    table.require("instrument")
    return ConsentSpec(
        instrument=_instrument(table, "instrument", around),
        version=_required_string(table, "version"),
        providers=table.strings("providers"),
        flags=table.strings("flags"),
        values={key: _placeholder(table, key, around) for key in table.values if key not in CONSENT_KEYS},
    )


def _placeholder(table: Table, key: str, around: Surroundings) -> Text:
    """A text; a whole number reads as its digits."""
    value = table.values[key]
    if isinstance(value, int) and not isinstance(value, bool):
        return dict.fromkeys(around.languages, str(value))
    return table.text(key, around.languages)


def _instrument(table: Table, key: str, around: Surroundings, default: str = "") -> str:
    instrument = table.string(key, default)
    if instrument:
        _know_instrument(table, key, instrument, around)
    return instrument


def _instruments(table: Table, key: str, around: Surroundings) -> tuple[str, ...]:
    instruments = table.strings(key)
    for number, instrument in enumerate(instruments, 1):
        _know_instrument(table, f"{key}.{number}", instrument, around)
    return instruments


def _know_instrument(table: Table, key: str, instrument: str, around: Surroundings) -> None:
    if instrument not in around.instruments:
        table.fault(key, f'unknown instrument "{instrument}"{suggestion(instrument, around.instruments)}')


def _step(table: Table, around: Surroundings) -> StepSpec:
    table.require("kind")
    kind = table.choice("kind", STEPS, "") if table.has("kind") else ""
    if kind == "questionnaire":
        table.require("instrument")
    step = StepSpec(
        kind=kind,
        instrument=_instrument(table, "instrument", around, USUAL_INSTRUMENTS.get(kind, "")),
        track=table.choice("track", TRACKS, "all"),
        mode=_mode(table, kind),
    )
    table.refuse_unknown()
    return step


def _mode(table: Table, kind: str) -> str:
    """Whether the person is interviewed or answers alone."""
    mode = table.choice("mode", MODES, SELF if kind == INTERVIEW else "")
    if mode and kind != INTERVIEW:
        table.fault("mode", "belongs to interview steps only")
    return mode


def _chat(table: Table, around: Surroundings) -> ChatSpec:
    usual = ChatSpec()
    checkpoints, every = _checkpoints(table)
    chat = ChatSpec(
        min_turns=table.integer("min_turns", usual.min_turns, minimum=1, maximum=MOST_TURNS),
        max_turns=table.integer("max_turns", usual.max_turns, minimum=1, maximum=MOST_TURNS),
        checkpoints=checkpoints,
        checkpoint_every=every,
        checkpoint_instrument=_instrument(table, "checkpoint_instrument", around),
        final_instruments=_instruments(table, "final_instruments", around),
        counsellor_instruments=_instruments(table, "counsellor_instruments", around),
        de_roling_instrument=_instrument(table, "de_roling_instrument", around),
        rate_each_reply=table.boolean("rate_each_reply"),
        emotion_instrument=_instrument(table, "emotion_instrument", around),
        give_profile=table.boolean("give_profile"),
        topic=table.choice("topic", TOPICS, usual.topic),
    )
    table.refuse_unknown()
    return chat


def _checkpoints(table: Table) -> tuple[tuple[int, ...], int | None]:
    """`checkpoints = [5, 10]`, `every = 5`, or `checkpoints = {every = 5}`, which is the same as the second."""
    if isinstance(table.values.get("checkpoints"), dict):
        table.known.append("every")
        inner = table.table("checkpoints")
        every = inner.optional_integer("every", minimum=1)
        inner.require("every")
        inner.refuse_unknown()
    else:
        every = table.optional_integer("every", minimum=1)
    if table.has("checkpoints") and table.has("every"):
        table.fault("every", "give checkpoints or every, not both")
    checkpoints = () if every else table.integers("checkpoints")
    if checkpoints and (checkpoints[0] < 1 or list(checkpoints) != sorted(checkpoints)):
        table.fault("checkpoints", "must be turn counts from 1, ascending")
        return (), every
    return checkpoints, every


def _order(table: Table) -> OrderSpec:
    usual = OrderSpec()
    counsellors = table.optional_integer("counsellors", minimum=1, maximum=MOST_COUNSELLORS)
    raters = table.optional_integer("raters_per_arm", minimum=1, maximum=MOST_COUNSELLORS)
    order = OrderSpec(
        design=table.choice("design", DESIGNS, usual.design),
        arms_per_person=table.optional_integer("arms_per_person", minimum=1),
        seed=table.integer("seed", usual.seed),
        counsellors=counsellors,
        raters_per_arm=raters or (USUAL_RATERS if counsellors else None),
    )
    table.refuse_unknown()
    return order


def _role_play(table: Table, around: Surroundings, min_turns: int) -> RolePlaySpec:
    names = table.strings("cards")
    cards = [
        card
        for number, name in enumerate(names, 1)
        for card in _cards(table, f"cards.{number}", name, around, min_turns)
    ]
    keys = [card.key for card in cards]
    for key in sorted({key for key in keys if keys.count(key) > 1}):
        table.fault("cards", f'two cards have the id "{key}"')
    for language in around.languages:
        if cards and language not in [card.language for card in cards]:
            table.fault("cards", f"there is no card in {language}")
    table.refuse_unknown()
    return RolePlaySpec(names)


def _cards(table: Table, key: str, name: str, around: Surroundings, min_turns: int) -> tuple[CardSpec, ...]:
    file = card_file(name, around.card_folders)
    if file is None:
        table.fault(key, f'no file "{name}" or "{name}.json" beside the study file or among the instruments')
        return ()
    try:
        return read_cards(file, min_turns=min_turns)
    except CardFileError as error:
        for fault in error.faults:
            table.fault(key, f"{file.name}: {fault}")
        return ()


def card_file(name: str, folders: Sequence[Path]) -> Path | None:
    """A file name with or without its ending; never one in another folder."""
    found = (file_below(folder, each) for folder in folders for each in (name, f"{name}.json"))
    return next((file for file in found if file and name == Path(name).name), None)


def file_below(folder: Path, name: str) -> Path | None:
    """Return the file of this name; None where there is none, or where it is elsewhere than in this folder or below it
    once links are followed. What a study file names goes to providers, so no other file may be named."""
    file = folder / name
    try:
        return file if file.resolve().is_relative_to(folder.resolve()) and file.is_file() else None
    except (OSError, RuntimeError):  # the name is too long for a file, or links lead in a circle
        return None


def _arm(table: Table, around: Surroundings) -> ArmSpec:
    arm, prompt = _model(table, around), table.string("prompt")
    table.at_most("prompt", prompt, LONGEST_PROMPT)
    table.refuse_unknown()
    return replace(arm, prompt=prompt, prompt_text=_prompt(table, prompt, around) if prompt else {})


def _judge(table: Table, around: Surroundings) -> ArmSpec:
    """A model like an arm, with keys of its own, which stand in `extra`."""
    judge = _model(table, around)
    if table.has("prompt"):
        table.known.append("prompt")
        table.fault("prompt", "cannot be given yet: judges are asked with emostudy's own prompts. Leave it out")
    chosen = {name: True for name in OF_JUDGES if table.boolean(name)}
    if "structured" in chosen and RESPONSE_FORMAT in judge.extra:
        table.fault(f"extra.{RESPONSE_FORMAT}", "is what structured = true sets: leave out one of them")
    table.refuse_unknown()
    return replace(judge, extra={**judge.extra, **chosen})


def _model(table: Table, around: Surroundings) -> ArmSpec:
    key = table.slug("key")
    table.require("kind")
    kind = table.choice("kind", ARM_KINDS, "") if table.has("kind") else ""
    arm = ArmSpec(
        key=key,
        title=table.text("title", around.languages) if table.has("title") else dict.fromkeys(around.languages, key),
        kind=kind,
        base_url=table.string("base_url"),
        model=table.string("model"),
        api_key_env=table.string("api_key_env"),
        provider=table.string("provider"),
        temperature=table.optional_number("temperature", minimum=0, maximum=2),
        max_tokens=table.optional_integer("max_tokens", minimum=1, maximum=MOST_TOKENS),
        extra=_extra(table),
    )
    for name, maximum in LONGEST.items():
        table.at_most(name, getattr(arm, name), maximum)
    _check_connection(table, arm)
    return arm


def _seeker(table: Table) -> ArmSpec:
    """The model behind simulated seekers. It has no prompt of its own: those are ours, by version."""
    table.require("kind")
    seeker = ArmSpec(
        key=SEEKER,
        title={},
        kind=table.choice("kind", ARM_KINDS, "") if table.has("kind") else "",
        base_url=table.string("base_url"),
        model=table.string("model"),
        api_key_env=table.string("api_key_env"),
        provider=table.string("provider"),
        temperature=table.optional_number("temperature", minimum=0, maximum=2),
        max_tokens=table.optional_integer("max_tokens", minimum=1, maximum=MOST_TOKENS),
        extra=_extra(table),
    )
    for name, maximum in LONGEST.items():
        table.at_most(name, getattr(seeker, name), maximum)
    _check_connection(table, seeker)
    table.refuse_unknown()
    return seeker


def _safety(table: Table) -> SafetyRules:
    rules, faults = _read_safety(table.table("safety").values)
    table.faults += faults
    return rules


def _read_safety(values: Mapping[str, Any]) -> tuple[SafetyRules, list[Fault]]:
    """Return the rules, and each fault with its place; where there is a fault the rules are the usual ones."""
    try:
        return RULES.validate_python(dict(values)), []
    except SchemaError as error:
        return SafetyRules(), [Fault(_safety_place(each["loc"]), _safety_wording(each)) for each in error.errors()]


def _safety_place(path: tuple[int | str, ...]) -> str:
    """Members of a list are counted from 1, as everywhere in the study file."""
    return ".".join(["safety", *(str(part + 1) if isinstance(part, int) else part for part in path)])


def _safety_wording(error: Mapping[str, Any]) -> str:
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] in ("missing", "unexpected_keyword_argument"):
        return "is missing" if error["type"] == "missing" else "unknown key"
    return str(error["msg"])[:1].lower() + str(error["msg"])[1:]


def _extra(table: Table) -> Mapping[str, Any]:
    extra = table.table("extra")
    for name in OF_JUDGES:
        if extra.has(name):
            extra.fault(name, f"is a key of [[judges]] itself: {name} = true beside extra")
    return extra.values


def _check_connection(table: Table, arm: ArmSpec) -> None:
    if arm.kind == "openai_compatible":
        table.require("base_url")
        table.require("model")
    if arm.base_url and not arm.base_url.startswith(("http://", "https://")):
        table.fault("base_url", "must begin with http:// or https://")
    if "@" in arm.base_url.partition("://")[2].partition("/")[0]:
        # Nor is this repeated. Addresses are stored and exported, keys are not.
        table.fault("base_url", "must hold no user and no password: use api_key_env")
    if arm.api_key_env and not VARIABLE.fullmatch(arm.api_key_env):
        # The value is not repeated: it may be the key itself.
        table.fault("api_key_env", "must be the name of an environment variable (capitals, digits, _), never the key")
    try:
        json.dumps(arm.extra, allow_nan=False)
    except (TypeError, ValueError):
        table.fault("extra", "may hold text, finite numbers, truth values, lists and tables only")


def _prompt(table: Table, name: str, around: Surroundings) -> dict[str, str]:
    """`x.txt` is one text for all languages; `supporter` stands for `supporter.en.txt` and `supporter.zh.txt`."""
    for folder in around.prompt_folders:
        if file := file_below(folder, name):
            return {"": _prompt_text(table, file)}
        by_language = {language: file_below(folder, f"{name}.{language}.txt") for language in LANGUAGES}
        found = {language: file for language, file in by_language.items() if file}
        if found:
            for language in around.languages:
                if language not in found:
                    table.fault("prompt", f"there is {name}.{'/'.join(found)}.txt, but no {name}.{language}.txt")
            return {language: _prompt_text(table, file) for language, file in found.items()}
    files = f'"{name}" or "{name}.{LANGUAGES[0]}.txt"'
    table.fault("prompt", f"no file {files} in the study file's folder or below it, nor among the prompts")
    return {}


def _prompt_text(table: Table, file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST_FILE:
            raise ValueError(f"it {TOO_LARGE}")
        text = read_prompt(file).text
        if not is_storable(text):
            raise ValueError("it holds a character that cannot be kept")
    except (OSError, ValueError) as error:
        table.fault("prompt", f"{file.name} cannot be read: {error}")
        return ""
    return text


def _display(table: Table, around: Surroundings) -> dict[str, Any]:
    """The keys that the file gives, and no others."""
    read = {
        "reveal_arms": table.boolean("reveal_arms"),
        "timings": table.boolean("timings"),
        "first_piece_seconds": table.optional_number("first_piece_seconds", minimum=0, maximum=LONGEST_FLOOR),
        "characters_per_second": _rates(table, around.languages),
        "self_naming": table.choice("self_naming", SELF_NAMING, SELF_NAMING[0]),
        "names": list(table.strings("names")),
        **{key: table.text(key, around.languages) for key in DISPLAY_TEXTS},
    }
    table.refuse_unknown()
    return {key: value for key, value in read.items() if table.has(key)}


def _rates(table: Table, languages: Sequence[str]) -> dict[str, float | None]:
    """One number for every language of the study, or a table of numbers by language."""
    key = "characters_per_second"
    if not isinstance(table.values.get(key), dict):
        return dict.fromkeys(languages, table.optional_number(key, minimum=RATES[0], maximum=RATES[1]))
    by_language = table.table(key)
    rates = {
        one: by_language.optional_number(one, minimum=RATES[0], maximum=RATES[1])
        for one in LANGUAGES
        if one in languages or by_language.has(one)
    }
    for language in languages:
        by_language.require(language)
    by_language.refuse_unknown()
    return rates


# Writing.


def dump_study(spec: StudySpec) -> str:
    """The study as a file that `read_study` reads back as the same; prompts stay file names."""
    document = {
        "key": spec.key,
        "title": _plainly(spec.title, spec.languages),
        "languages": list(spec.languages),
        "country": spec.country,
        "contact": spec.contact,
        "oncall_email": spec.oncall_email,
        "selection": spec.selection,
        "open": spec.open_enrolment,
        "gone_after_days": spec.gone_after_days,
        "consent": _consent_table(spec),
        "steps": [_given(asdict(step)) for step in spec.steps],
        "chat": _chat_table(spec.chat),
        "order": _given(asdict(spec.order)),
        "arms": [_arm_table(arm, spec.languages) for arm in spec.arms],
        "judges": [_arm_table(judge, spec.languages) for judge in spec.judges],
        "display": {
            key: _plainly(value, spec.languages) if key in DISPLAY_TEXTS else value
            for key, value in spec.display.items()
        },
        "role_play": _given(asdict(spec.role_play)),
        "seeker": _seeker_table(spec.seeker),
        "safety": _safety_table(spec.safety),
        "primary": [_given(asdict(contrast)) for contrast in spec.primary],
    }
    return tomli_w.dumps(_given(document))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value not in (None, "", (), [], {})}


def _plainly(text: Text, languages: Sequence[str]) -> str | dict[str, str]:
    """One string where every language of the study, and no other, has the same."""
    if set(text) == set(languages) and len(set(text.values())) == 1:
        return text[languages[0]]
    return dict(text)


def _safety_table(rules: SafetyRules) -> dict[str, Any]:
    """What differs from the usual."""
    usual = asdict(SafetyRules())
    table: dict[str, Any] = _plain({key: value for key, value in asdict(rules).items() if value != usual[key]})
    return table


def _plain(value: Any) -> Any:
    """Tables and lists without the keys that are not given, at every depth."""
    if isinstance(value, Mapping):
        return _given({key: _plain(member) for key, member in value.items()})
    return [_plain(member) for member in value] if isinstance(value, list | tuple) else value


def _consent_table(spec: StudySpec) -> dict[str, Any]:
    if spec.consent is None:
        return {}
    consent = asdict(spec.consent)
    values = consent.pop("values")
    return _given(consent) | {name: _plainly(text, spec.languages) for name, text in values.items()}


def _chat_table(chat: ChatSpec) -> dict[str, Any]:
    values = asdict(chat)
    every = values.pop("checkpoint_every")
    if every:
        del values["checkpoints"]
    return _given(values | {"every": every})


def _arm_table(arm: ArmSpec, languages: Sequence[str]) -> dict[str, Any]:
    values = asdict(arm)
    del values["prompt_text"]
    chosen = {name: True for name in OF_JUDGES if arm.extra.get(name)}
    return _given(values | {"title": _plainly(arm.title, languages), "extra": arm.extra_for_model()} | chosen)


def _seeker_table(seeker: ArmSpec | None) -> dict[str, Any]:
    if seeker is None:
        return {}
    values = asdict(seeker)
    for name in ("key", "title", "prompt", "prompt_text"):
        del values[name]
    return _given(values)
