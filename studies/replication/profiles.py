"""The profiles of a walk: the first ones of each set of forty that come with emostudy."""

import json
from pathlib import Path

from django.conf import settings

from dialogue.languages import CODES

MOST = 40


def write_profiles(path: Path, *, each: int) -> None:
    """Write so many profiles of each language into one file, as `--profiles` takes it."""
    profiles = []
    for language in CODES:
        source = settings.FIXTURES / "instruments" / f"seeker_profiles_{language}.json"
        profiles += json.loads(source.read_text(encoding="utf-8"))["profiles"][:each]
    path.write_text(json.dumps({"profiles": profiles}, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
