"""Seekers to be simulated: P = {D, P, C, S} (EmoHarbor, arXiv:2601.01530, Section 2.1) from files, and what of a
profile the seeker's own model, the supporter and no one may read. Pure.

D: demographic attributes; P: personality and preferences; C: what they come to talk about; S: the script of how a talk
with them goes. D, P and C may have any keys, so that profiles of others fit; their values are texts, numbers, lists of
these, or one more table of these.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from dialogue.documents import DocumentError, Fault, check_size, parse_json, place_of, read_bytes, read_text
from dialogue.documents import translate as _
from dialogue.judges import fields
from dialogue.judges.fields import ProfileLine
from dialogue.schema import check
from dialogue.seekers.components import components
from dialogue.seekers.profile_schema import ProfileFile

EMOTIONS = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "emotion_checkin.json"
PARTS = {"D": "demographics", "P": "personality", "C": "concern", "S": "script"}
SCRIPT = ("opening", "layers", "reactions", "ends_when")
BIG_FIVE = ("E", "A", "C", "N", "O")
FOR_SUPPORTER = {  # of D everything
    "P": ("big5", "mbti", "habits", "hobbies"),
    "C": ("problem_category", "problem", "emotion", "intensity", "goals"),
}
LARGEST_FILE = 50_000_000  # bytes; a profile has about three thousand
SIMPLE = (fields.DEMOGRAPHICS, fields.CONCERN)
ALONE = "profile"  # the place of one that stands by itself

Detail = Literal["full", "simple"]


class ProfilesRefused(DocumentError):
    """Every fault of a file of profiles; as text one line for each, `FILE: profiles[3].C.problem: what is wrong`.

    A file with one profile a line has `line 3` in the place of `profiles[3]`.
    """


@dataclass(frozen=True)
class Profile:
    id: str
    language: str  # en or zh
    demographics: Mapping[str, Any]
    personality: Mapping[str, Any]
    concern: Mapping[str, Any]
    script: Mapping[str, Any]
    worst_case_default: Mapping[str, Any] = field(default_factory=dict)


def load_profiles(path: Path) -> tuple[Profile, ...]:
    """Return the profiles of a file. Raise ProfilesRefused, also where the file cannot be read."""
    try:
        data = read_bytes(path, limit=LARGEST_FILE)
    except DocumentError as error:
        raise ProfilesRefused(path.name, error.faults) from error
    return parse_profiles(data, path.name)


def parse_profiles(data: bytes, name: str) -> tuple[Profile, ...]:
    """Return the profiles of a file's content. One called `.json` is an object with `profiles`, or these as a list; any
    other has one profile a line. Raise ProfilesRefused."""
    try:
        check_size(data, name, limit=LARGEST_FILE)
        text = read_text(data, name)
        nodes, faults = document_nodes(text) if name.endswith(".json") else line_nodes(text)
    except DocumentError as error:
        raise ProfilesRefused(name, error.faults) from error
    for place, node in nodes:
        faults += node_faults(place, node)
    faults += repeated_ids(nodes)
    if not nodes and not faults:
        faults.append(Fault("", _("there are no profiles")))
    if faults:
        raise ProfilesRefused(name, faults)
    return tuple(from_content(node) for _place, node in nodes)


def parse_profile(text: str) -> Profile:
    """Return one profile by itself, an object. Raise ProfilesRefused."""
    try:
        value = parse_json(text, ALONE)
    except DocumentError as error:
        raise ProfilesRefused(ALONE, error.faults) from error
    return read_profile(value)


def read_profile(value: Any) -> Profile:
    """Return one profile. Raise ProfilesRefused, with places such as `profile.C.problem`."""
    if faults := node_faults(ALONE, value):
        raise ProfilesRefused(ALONE, faults)
    return from_content(value)


Nodes = list[tuple[str, Any]]  # the place and the value of each profile


def document_nodes(text: str) -> tuple[Nodes, list[Fault]]:
    """Return the profiles of a JSON file, and what is wrong with what stands around them."""
    document = parse_json(text, "")
    values = document.get("profiles") if isinstance(document, dict) else document
    if not isinstance(values, list):
        return [], [Fault("", _('must hold {"profiles": […]}'))]
    twice = [Fault(key, _("is given more than once")) for key in getattr(document, "repeated", ())]
    empty = [] if values else [Fault("profiles", _("there are none"))]
    return [(place_of(("profiles", number)), value) for number, value in enumerate(values)], twice + empty


def line_nodes(text: str) -> tuple[Nodes, list[Fault]]:
    """Return the profiles of a file with one a line. It is split at \\n alone: a text may hold U+2028, at which
    splitlines() would break."""
    nodes, faults = [], []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                nodes.append((f"line {number}", parse_json(line, "")))
        except DocumentError as error:
            faults += [Fault(f"line {number}", fault.message) for fault in error.faults]
    return nodes, faults


def node_faults(place: str, node: Any) -> list[Fault]:
    """Return what is wrong with one profile."""
    faults = check(ProfileFile, node, json=True).fault_list.faults()
    return [Fault(f"{place}.{fault.place}" if fault.place else place, fault.message) for fault in faults]


def repeated_ids(nodes: Nodes) -> list[Fault]:
    """Return which profiles have the id of an earlier one."""
    ids = [node.get("id") if isinstance(node, dict) else None for _place, node in nodes]
    return [
        Fault(f"{place}.id", _('"%(id)s" is already the id of %(place)s', id=own_id, place=nodes[ids.index(own_id)][0]))
        for number, ((place, _node), own_id) in enumerate(zip(nodes, ids, strict=True))
        if own_id and own_id in ids[:number]
    ]


def as_content(profile: Profile) -> dict[str, Any]:
    """Return the profile as it stands in a file of profiles."""
    parts = {letter: dict(getattr(profile, name)) for letter, name in PARTS.items()}
    content: dict[str, Any] = {"id": profile.id, "lang": profile.language, **parts}
    if profile.worst_case_default:
        content["worst_case_default"] = dict(profile.worst_case_default)
    return content


def from_content(content: Mapping[str, Any]) -> Profile:
    """Return the profile from what `as_content` gave."""
    parts = {name: content[letter] for letter, name in PARTS.items()}
    default = content.get("worst_case_default", {})
    return Profile(id=content["id"], language=content["lang"], worst_case_default=default, **parts)


def write_for_seeker(profile: Profile, *, detail: Detail) -> str:
    """Return a line for each thing known. `simple` is the ablation of EmoHarbor, Section 4.1.1: demographics and what
    the talk is about, without personality, preferences and script."""
    return fields.text_of(lines_for_seeker(profile, detail=detail))


def lines_for_seeker(profile: Profile, *, detail: Detail) -> list[ProfileLine]:
    """Return the lines of `known_to_seeker`, each with the field that it is of."""
    parts = {
        fields.DEMOGRAPHICS: profile.demographics,
        fields.PERSONALITY: profile.personality,
        fields.CONCERN: profile.concern,
        fields.SCRIPT: _script(profile),
    }
    return [
        ProfileLine(fields.BIG_FIVE if key == "big5" else part, line)
        for part, values in parts.items()
        if detail == "full" or part in SIMPLE
        for key, value in values.items()
        for line in _write_lines(key, value, profile.language)
    ]


def write_for_supporter(profile: Profile) -> str:
    """Return as text about what people say of themselves on the profile page: without the script, how they write, what
    lies behind their problem, and how to please them."""
    parts = [profile.demographics, _only(profile.personality, "P"), _only(profile.concern, "C")]
    return _lines(parts, profile.language)


def hidden_parts(profile: Profile) -> tuple[str, ...]:
    """Return the texts of a profile that no message of the seeker may have word for word. These are layers, reactions,
    when the person leaves, and the instructions for the five behaviours."""
    script = profile.script
    parts = [*script.get("layers", ()), *script.get("reactions", {}).values(), script.get("ends_when", "")]
    instructions = [component.instruction[profile.language] for component in components().values()]
    return tuple(part for part in [*parts, *instructions] if part)


# What is told.

LABELS = {
    "en": {
        "alias": "Name",
        "age": "Age",
        "gender": "Gender",
        "occupation": "Occupation",
        "education": "Education",
        "relationship": "Relationship",
        "living": "Lives",
        "big5": "Big Five (1 to 5)",
        "mbti": "Type (MBTI)",
        "speech_style": "Way of writing",
        "habits": "Habits",
        "hobbies": "Hobbies",
        "support_preference": "Kind of support wanted",
        "problem_category": "Topic",
        "problem": "Problem",
        "emotion": "Feeling",
        "intensity": "Strength of the feeling (1 to 5)",
        "background": "Background",
        "goals": "Hopes for this talk",
        "roles": "People",
        "partner": "hopes to find",
        "others": "others in the story",
        "opening": "How you begin",
        "layers": "What you may let out, one layer after the other",
        "reactions": "How you react",
        "ends_when": "You leave when",
        "generic_comfort": "to comfort that would fit anybody",
        "premature_advice": "to advice before you were understood",
        "accurate_reflection": "to being understood exactly",
        "open_question": "to an open question",
        "pressure": "to pressure",
        "E": "extraversion",
        "A": "agreeableness",
        "C": "conscientiousness",
        "N": "neuroticism",
        "O": "openness",
    },
    "zh": {
        "alias": "称呼",
        "age": "年龄",
        "gender": "性别",
        "occupation": "职业",
        "education": "教育程度",
        "relationship": "感情状况",
        "living": "居住情况",
        "big5": "大五人格（1至5分）",
        "mbti": "性格类型（MBTI）",
        "speech_style": "说话方式",
        "habits": "习惯",
        "hobbies": "爱好",
        "support_preference": "希望得到的支持",
        "problem_category": "话题",
        "problem": "困扰",
        "emotion": "感受",
        "intensity": "感受的强度（1至5）",
        "background": "背景",
        "goals": "希望从这次谈话得到",
        "roles": "相关的人",
        "partner": "希望遇到",
        "others": "故事里的其他人",
        "opening": "您怎样开口",
        "layers": "您可以一层一层透露的内容",
        "reactions": "您的反应",
        "ends_when": "您离开的时候",
        "generic_comfort": "听到对谁都适用的安慰",
        "premature_advice": "还没被理解就得到建议",
        "accurate_reflection": "被准确理解",
        "open_question": "听到开放式问题",
        "pressure": "感到被逼迫",
        "E": "外向性",
        "A": "宜人性",
        "C": "尽责性",
        "N": "神经质",
        "O": "开放性",
    },
}
COLON = {"en": ": ", "zh": "："}
COMMA = {"en": ", ", "zh": "，"}
SEPARATOR = {"en": "; ", "zh": "；"}
UNTOLD = ("scale",)  # of big5: which file scores it


def _lines(parts: Iterable[Mapping[str, Any]], language: str) -> str:
    return "\n".join(
        line for part in parts for key, value in part.items() for line in _write_lines(key, value, language)
    )


def _write_lines(key: str, value: Any, language: str) -> list[str]:
    """Return a line for a thing, or for each thing of a table. None has a break in it, so that nothing in a profile can
    pass for the end of its block."""
    label = _label(key, language)
    if not isinstance(value, dict):
        words = _emotion(value, language) if key == "emotion" else _words(value, language)
        return [f"{label}{COLON[language]}{words}"] if words else []
    members = {_label(name, language): _words(each, language) for name, each in value.items() if name not in UNTOLD}
    if all(isinstance(each, int | float) for name, each in value.items() if name not in UNTOLD):
        return [f"{label}{COLON[language]}{COMMA[language].join(f'{name} {each}' for name, each in members.items())}"]
    return [f"{label}{COMMA[language]}{name}{COLON[language]}{each}" for name, each in members.items() if each]


def _label(key: str, language: str) -> str:
    return LABELS[language].get(key) or flat(key.replace("_", " "))


def _words(value: Any, language: str) -> str:
    members = value if isinstance(value, list) else [value]
    return SEPARATOR[language].join(flat(str(member)) for member in members)


def _script(profile: Profile) -> dict[str, Any]:
    numbered = [f"{number}. {text}" for number, text in enumerate(profile.script["layers"], 1)]
    return {**{key: profile.script[key] for key in SCRIPT if key in profile.script}, "layers": numbered}


def _only(part: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: part[key] for key in FOR_SUPPORTER[name] if key in part}


def _emotion(value: Any, language: str) -> str:
    """Return a value by its name in this language if it is one of the feelings check, else in its own words."""
    named = _emotions().get(value, {}) if isinstance(value, str) else {}
    return named.get(language) or _words(value, language)


@cache
def _emotions() -> Mapping[str, Mapping[str, str]]:
    return {node["key"]: node for node in json.loads(EMOTIONS.read_text(encoding="utf-8"))["emotions"]}


def flat(text: str) -> str:
    """Return the text on one line, so that nothing in it can pass for the end of a block."""
    return " ".join(text.split())
