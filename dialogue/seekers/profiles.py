"""Seekers to be simulated: P = {D, P, C, S} (EmoHarbor, arXiv:2601.01530, Section 2.1) from files, and what of a
profile the seeker's own model, the supporter and nobody may read. Pure.

D: demographic attributes; P: personality and preferences; C: what they come to talk about; S: the script of how a talk
with them goes. D, P and C may have any keys, so that profiles of others fit; their values are texts, numbers, lists of
these, or one more table of these.
"""

import difflib
import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from dialogue.incoming import is_storable
from dialogue.judges import fields
from dialogue.judges.fields import Line
from dialogue.languages import CODES
from dialogue.seekers.components import STRONGEST, components

EMOTIONS = Path(__file__).resolve().parents[2] / "fixtures" / "instruments" / "emotion_checkin.json"
KEYS = ("id", "lang", "D", "P", "C", "S", "worst_case_default")
PARTS = {"D": "demographics", "P": "personality", "C": "concern", "S": "script"}
SILENT_KEYS = ("fictional",)  # known, and of no use here
SCRIPT = ("opening", "layers", "reactions", "ends_when")
BELONGINGS = ("fixed_belief", "trigger_word")
BIG_FIVE = ("E", "A", "C", "N", "O")
FOR_SUPPORTER = {  # of D everything
    "P": ("big5", "mbti", "habits", "hobbies"),
    "C": ("problem_category", "problem", "emotion", "intensity", "goals"),
}
OLDEST = 120  # years
LONGEST_ID = 100  # characters
SIMPLE = (fields.DEMOGRAPHICS, fields.CONCERN)
ALONE = "profile"  # the place of one that stands by itself

Detail = Literal["full", "simple"]


class ProfilesRefused(Exception):
    """Every fault of a file of profiles; as text one line for each, `FILE: profiles[3].C.problem: what is wrong`.

    Members of a list are counted from 1. A file with one profile a line has `line 3` in the place of `profiles[3]`.
    """

    def __init__(self, name: str, faults: Sequence[str]) -> None:
        super().__init__("\n".join(f"{name}: {fault}" for fault in faults))
        self.faults = list(faults)


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
    """As `parse_profiles`, from the disk. Raises ProfilesRefused, also where the file cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProfilesRefused(path.name, [f"cannot be read: {error.strerror}"]) from error
    return parse_profiles(data, path.name)


def parse_profiles(data: bytes, name: str) -> tuple[Profile, ...]:
    """From a file called `.json`, an object with `profiles`, or these as a list; from any other, one profile a line.
    Raises ProfilesRefused."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ProfilesRefused(name, [f"is not UTF-8 ({error.reason} at byte {error.start})"]) from error
    faults: list[str] = []
    nodes = _of_document(text, faults) if name.endswith(".json") else _of_lines(text, faults)
    for node in nodes:
        node.check()
    faults += _twice(nodes)
    if not nodes and not faults:
        faults.append("there are no profiles")
    if faults:
        raise ProfilesRefused(name, faults)
    return tuple(node.profile() for node in nodes)


def parse_profile(text: str) -> Profile:
    """One by itself, as an object. Raises ProfilesRefused."""
    faults: list[str] = []
    value = _parsed(text, "", faults)
    if faults:
        raise ProfilesRefused(ALONE, faults)
    return read_profile(value)


def read_profile(value: Any) -> Profile:
    """Raises ProfilesRefused, with places such as `profile.C.problem`."""
    faults: list[str] = []
    for node in _nodes([(ALONE, value)], faults):
        node.check()
        if not faults:
            return node.profile()
    raise ProfilesRefused(ALONE, faults)


def as_content(profile: Profile) -> dict[str, Any]:
    """As it stands in a file of profiles."""
    parts = {letter: dict(getattr(profile, name)) for letter, name in PARTS.items()}
    content: dict[str, Any] = {"id": profile.id, "lang": profile.language, **parts}
    if profile.worst_case_default:
        content["worst_case_default"] = dict(profile.worst_case_default)
    return content


def from_content(content: Mapping[str, Any]) -> Profile:
    """What `as_content` gave."""
    parts = {name: content[letter] for letter, name in PARTS.items()}
    default = content.get("worst_case_default", {})
    return Profile(id=content["id"], language=content["lang"], worst_case_default=default, **parts)


def known_to_seeker(profile: Profile, *, detail: Detail) -> str:
    """One line for each thing known. `simple` is the ablation of EmoHarbor, Section 4.1.1: demographics and what the
    talk is about, without personality, preferences and script."""
    return fields.text_of(lines_for_seeker(profile, detail=detail))


def lines_for_seeker(profile: Profile, *, detail: Detail) -> list[Line]:
    """As `known_to_seeker`, each with the field that it is of."""
    parts = {
        fields.DEMOGRAPHICS: profile.demographics,
        fields.PERSONALITY: profile.personality,
        fields.CONCERN: profile.concern,
        fields.SCRIPT: _script(profile),
    }
    return [
        Line(fields.BIG_FIVE if key == "big5" else part, line)
        for part, values in parts.items()
        if detail == "full" or part in SIMPLE
        for key, value in values.items()
        for line in _told(key, value, profile.language)
    ]


def known_to_supporter(profile: Profile) -> str:
    """About what people tell of themselves on the profile page: nothing of the script, of how they write, of what lies
    behind their problem, or of how to please them."""
    told = [profile.demographics, _only(profile.personality, "P"), _only(profile.concern, "C")]
    return _lines(told, profile.language)


def hidden_parts(profile: Profile) -> tuple[str, ...]:
    """Texts that no message of the seeker may have word for word: layers, reactions, when the person leaves, and the
    instructions for the five behaviours."""
    script = profile.script
    parts = [*script.get("layers", ()), *script.get("reactions", {}).values(), script.get("ends_when", "")]
    instructions = [component.instruction[profile.language] for component in components().values()]
    return tuple(part for part in [*parts, *instructions] if part)


# What is read.


@dataclass(frozen=True)
class _Node:
    """One profile as it came; what is wrong with it goes to `faults`."""

    values: Mapping[str, Any]
    path: str
    faults: list[str]

    def check(self) -> None:
        self._refuse_others(KEYS + SILENT_KEYS)
        self.faults.extend(_repeated(self.values, f"{self.path}."))
        self._check_id()
        if self.values.get("lang") not in CODES:
            self._fault("lang", f"must be {' or '.join(CODES)}")
        for part in "DPCS":
            if isinstance(self.values.get(part), dict):
                _check_leaves(self.values[part], f"{self.path}.{part}", self.faults)
            else:
                self._fault(part, "is missing" if part not in self.values else "must be an object")
        self._check_person()
        self._check_trouble()
        self._check_script()
        self._check_worst_case()

    def part(self, key: str) -> Mapping[str, Any]:
        """As it may be read; what is not an object has its fault already."""
        value = self.values.get(key, {})
        return value if isinstance(value, dict) else {}

    def profile(self) -> Profile:
        parts = (self.part(key) for key in ("D", "P", "C", "S", "worst_case_default"))
        return Profile(self.values["id"], self.values["lang"], *parts)

    def _check_id(self) -> None:
        given = self.values.get("id")
        if not isinstance(given, str) or not given.strip():
            self._fault("id", "is missing" if given in (None, "") else "must be text")
        elif len(given) > LONGEST_ID or given != " ".join(given.split()) or not is_storable(given):
            self._fault("id", f"must be one line of at most {LONGEST_ID} characters without spaces around it")

    def _check_person(self) -> None:
        person = self.part("D")
        self._need_text(person, "D", "alias")
        age = person.get("age")
        if age is not None and not (_is_whole(age) and 1 <= age <= OLDEST):
            self._fault("D.age", f"must be a whole number from 1 to {OLDEST}")
        big_five = self.part("P").get("big5", {})
        for factor in BIG_FIVE if isinstance(big_five, dict) else ():
            value = big_five.get(factor, 1)
            if not isinstance(value, int | float) or not 1 <= value <= 5:
                self._fault(f"P.big5.{factor}", "must be a number from 1 to 5")

    def _check_trouble(self) -> None:
        trouble = self.part("C")
        self._need_text(trouble, "C", "problem")
        self._need_texts(trouble, "C", "goals")

    def _check_script(self) -> None:
        script = self.part("S")
        for key in ("opening", "ends_when"):
            self._need_text(script, "S", key)
        self._need_texts(script, "S", "layers")
        reactions = script.get("reactions", {})
        if not isinstance(reactions, dict) or not all(isinstance(text, str) for text in reactions.values()):
            self._fault("S.reactions", "must be an object of texts")
        for key in script.keys() - set(SCRIPT):
            self._fault(f"S.{key}", f"unknown key{_nearest(key, SCRIPT)}")

    def _check_worst_case(self) -> None:
        given = self.values.get("worst_case_default", {})
        if not isinstance(given, dict):
            return self._fault("worst_case_default", "must be an object")
        self.faults.extend(_repeated(given, f"{self.path}.worst_case_default."))
        for key, value in given.items():
            if key in components():
                if not (_is_whole(value) and 0 <= value <= STRONGEST):
                    self._fault(f"worst_case_default.{key}", f"must be a whole number from 0 to {STRONGEST}")
            elif key not in BELONGINGS:
                known = (*components(), *BELONGINGS)
                self._fault(f"worst_case_default.{key}", f"unknown key{_nearest(key, known)}")
            elif not isinstance(value, str) or not is_storable(value):
                self._fault(f"worst_case_default.{key}", "must be text")

    def _need_text(self, table: Mapping[str, Any], part: str, key: str) -> None:
        if isinstance(self.values.get(part), dict) and not (isinstance(table.get(key), str) and table[key].strip()):
            self._fault(f"{part}.{key}", "is missing" if table.get(key, "") in ("", None) else "must be text")

    def _need_texts(self, table: Mapping[str, Any], part: str, key: str) -> None:
        given = table.get(key)
        if not isinstance(self.values.get(part), dict):
            return
        if not given:
            self._fault(f"{part}.{key}", "is missing")
        elif not isinstance(given, list) or not all(isinstance(text, str) and text.strip() for text in given):
            self._fault(f"{part}.{key}", "must be a list of texts")

    def _refuse_others(self, known: Collection[str]) -> None:
        for key in self.values.keys() - set(known):
            self._fault(key, f"unknown key{_nearest(key, KEYS)}")

    def _fault(self, key: str, what: str) -> None:
        self.faults.append(f"{self.path}.{key}: {what}")


def _of_document(text: str, faults: list[str]) -> list[_Node]:
    document = _parsed(text, "", faults)
    if faults:
        return []
    faults += _repeated(document, "")
    given = document.get("profiles") if isinstance(document, dict) else document
    if not isinstance(given, list):
        faults.append('must hold {"profiles": […]}')
        return []
    if not given:
        faults.append("profiles: there are none")
    return _nodes(((f"profiles[{number}]", value) for number, value in enumerate(given, 1)), faults)


def _of_lines(text: str, faults: list[str]) -> list[_Node]:
    """Split at \\n alone: a text may hold U+2028, at which splitlines() would break."""
    lines = [(f"line {number}", line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    parsed = [(path, _parsed(line, f"{path}: ", faults)) for path, line in lines]
    return _nodes([(path, value) for path, value in parsed if value is not None], faults)


def _nodes(values: Iterable[tuple[str, Any]], faults: list[str]) -> list[_Node]:
    nodes = []
    for path, value in values:
        if isinstance(value, dict):
            nodes.append(_Node(value, path, faults))
        else:
            faults.append(f"{path}: must be an object")
    return nodes


def _parsed(text: str, path: str, faults: list[str]) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        faults.append(f"{path}no JSON: {error}")
        return None


class _Repeating(dict[str, Any]):
    """An object in which keys stand more than once: of each but the last value is lost."""

    repeated: Sequence[str]


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    if len(values := dict(pairs)) == len(pairs):
        return values
    found = _Repeating(values)
    found.repeated = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
    return found


def _repeated(value: Any, place: str) -> list[str]:
    """`place`: of the object, with the dot after it."""
    return [f"{place}{key}: stands more than once" for key in getattr(value, "repeated", ())]


def _twice(nodes: Sequence[_Node]) -> list[str]:
    ids = [node.values.get("id") for node in nodes]
    return [
        f'{node.path}.id: "{given}" is already the id of {nodes[ids.index(given)].path}'
        for number, (node, given) in enumerate(zip(nodes, ids, strict=True))
        if given and given in ids[:number]
    ]


def _check_leaves(value: Any, path: str, faults: list[str], depth: int = 0) -> None:
    """Texts and numbers, in lists or one table more; no truth values, and nothing that a database cannot keep."""
    if isinstance(value, str):
        if not is_storable(value):
            faults.append(f"{path}: holds a character that cannot be kept")
    elif isinstance(value, dict) and depth < 2:
        faults += _repeated(value, f"{path}.")
        if not all(map(is_storable, value)):
            faults.append(f"{path}: has a key with a character that cannot be kept")
        for key, member in value.items():
            _check_leaves(member, f"{path}.{key}", faults, depth + 1)
    elif isinstance(value, list) and depth < 3:
        for number, member in enumerate(value, 1):
            _check_leaves(member, f"{path}[{number}]", faults, 3)
    elif isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        faults.append(f"{path}: must be text, a number, a list or a table of these")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _nearest(word: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(word, list(known), n=1)
    return f'; did you mean "{nearest[0]}"?' if nearest else ""


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
    return "\n".join(line for part in parts for key, value in part.items() for line in _told(key, value, language))


def _told(key: str, value: Any, language: str) -> list[str]:
    """A line for a thing, or for each thing of a table. None has a break in it, so that nothing in a profile can pass
    for the end of its block."""
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
    """By its name in this language where it is one of the feelings check."""
    named = _emotions().get(value, {}) if isinstance(value, str) else {}
    return named.get(language) or _words(value, language)


@cache
def _emotions() -> Mapping[str, Mapping[str, str]]:
    return {node["key"]: node for node in json.loads(EMOTIONS.read_text(encoding="utf-8"))["emotions"]}


def flat(text: str) -> str:
    """On one line, so that nothing in it can pass for the end of a block."""
    return " ".join(text.split())
