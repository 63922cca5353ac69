"""The faults of an imported file: every one at once, each as FILE:line: what."""

from dataclasses import dataclass, field


class ImportRefused(Exception):
    """The refusal of an import: nothing was changed. The message has one line per fault."""


@dataclass
class Faults:
    file: str
    lines: list[str] = field(default_factory=list)

    def add(self, line: int, what: str) -> None:
        self.lines.append(f"{self.file}:{line}: {what}")

    def refuse_any(self) -> None:
        if self.lines:
            raise ImportRefused("\n".join(self.lines))


def text_fault(text: str, limit: int | None) -> str:
    """Return why the database cannot keep this text as it is; empty if it can."""
    if limit is not None and len(text) > limit:
        return f"is longer than {limit} characters"
    if "\x00" in text:
        return "holds a NUL character"
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "holds half of a surrogate pair"
    return ""
