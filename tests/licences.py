"""Write docs/licences.md: every package of constraints.txt with its licence, from what is installed.

python -m tests.licences
"""

import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
CLASSIFIER = "License :: "
SPDX = {  # of other spellings
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD 3-Clause OR Apache-2.0": "BSD-3-Clause OR Apache-2.0",
    "GPL-3.0": "GPL-3.0-only",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
# From the file LICENSE of its repository: the metadata say nothing, or something vague besides, or only the oldest
# Python 3.11 needs it.
UNTOLD = {"axe-playwright-python": "MIT", "async-timeout": "Apache-2.0", "qrcode": "BSD-3-Clause AND MIT"}
# What may be combined with GPL-3.0-or-later: gnu.org/licenses/license-list.html
COMPATIBLE = frozenset(
    (
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "CNRI-Python", "GPL-3.0-only"),
        *(
            "GPL-3.0-or-later",
            "LGPL-3.0-only",
            "MIT",
            "MIT-0",
            "MIT-CMU",
            "MPL-2.0",
            "PSF-2.0",
            "TCL",
            "ZPL-2.1",
            "Zlib",
        ),
    )
)
OLDEST = {"python_full_version": "3.11.0"}  # needs what newer ones have themselves


class Package(NamedTuple):
    name: str
    version: str
    licence: str  # an SPDX expression; empty if no one says it
    runs: bool  # the server needs it; else only workers on other machines, tests and lint do


def get_packages() -> list[Package]:
    running = collect_needed(ROOT / "requirements.txt")
    pinned = PINNED.findall((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    return [Package(name, version, find_licence(name), canonicalize_name(name) in running) for name, version in pinned]


def find_licence(name: str) -> str:
    """Return a package's licence. Raises PackageNotFoundError if it is neither installed nor known."""
    if name in UNTOLD:
        return UNTOLD[name]
    told = metadata(name)
    if expression := told.get("License-Expression"):
        return str(expression)
    classifiers = [one.rsplit(" :: ", 1)[-1] for one in told.get_all("Classifier") or [] if one.startswith(CLASSIFIER)]
    names = [one for one in classifiers if one != "OSI Approved"] or [told.get("License") or ""]
    return " OR ".join(SPDX.get(one, one) for one in names)


def collect_needed(file: Path) -> set[str]:
    """Return the packages that a requirements file names, and those that they need themselves."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    waiting, needed = [Requirement(line) for line in lines], set[str]()
    while waiting:
        one = waiting.pop()
        needed.add(canonicalize_name(one.name))
        further = [each for each in get_requirements(one) if canonicalize_name(each.name) not in needed]
        waiting += further
    return needed


def get_requirements(one: Requirement) -> Iterator[Requirement]:
    try:
        told = requires(one.name) or []
    except PackageNotFoundError:  # for another system, or an older Python
        return
    for requirement in map(Requirement, told):
        extras = [*one.extras, ""]
        if not requirement.marker or any(requirement.marker.evaluate({**OLDEST, "extra": extra}) for extra in extras):
            yield requirement


def build_page() -> str:
    lines = [
        "# Licences",
        "",
        "emostudy is under [GPL-3.0-or-later](../LICENSE). Every package that it uses is under a licence that can be",
        "combined with it. `make docs` writes this page from what is installed. `make sbom` writes the same for",
        "programs, as a CycloneDX bill of materials.",
        "",
        "| package | version | licence | needed |",
        "| --- | --- | --- | --- |",
    ]
    lines += [
        f"| {one.name} | {one.version} | {one.licence} | {'to run' if one.runs else 'to test, or by Celery'} |"
        for one in get_packages()
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(build_page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: written")
