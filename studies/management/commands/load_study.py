import getpass
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils import timezone

from studies.care.opening_requirements import get_advice, lacks_drill
from studies.design.contradictions import remarks
from studies.design.reading import StudyFileError, read_study
from studies.design.skeleton import FILES, MARK, marked_places
from studies.design.skeleton import skeleton as get_skeleton
from studies.instruments.loading import instrument_ids
from studies.management.command import Command as Base
from studies.management.command import add_base_url
from studies.models import Protocol, Stage
from studies.participation.consent import template_ids
from studies.participation.durations import remark_on_times
from studies.participation.enrolment import invite
from studies.setup.addresses import words_of_addresses
from studies.setup.cards import StoredCards
from studies.setup.model_keys import unset_keys, unset_secrets
from studies.setup.past_days import find_past_days
from studies.setup.storage import AmendmentNeeded, AmendmentReason, LacksLanguages, NamesModels, load_spec
from studies.workbench.labels import one_or_more

TO_SET = "the variable {} is not set here. Set it for the server and for commands, and start the server again."
TRACKS = ("participant", "counsellor")  # that talk with arms
MOST_PLACES = 4  # places of values to fill in; the file marks them all


class Command(Base):
    help = (
        "Checks a study file and loads it. Every fault is reported at once; with a fault, nothing is changed. "
        "With --skeleton it writes a file to start from, with every key explained, and loads nothing."
    )

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, nargs="?", metavar="FILE.toml")
        parser.add_argument(
            "--skeleton",
            choices=FILES,
            help="write a study file to start from: minimal (one arm, one rating), emoharbor (people as themselves) or "
            "worst_case (counsellors who play seekers)",
        )
        parser.add_argument("--out", type=Path, metavar="FILE", help="of --skeleton; without it, print the file")
        parser.add_argument(
            "--test-link", action="store_true", help="also print a link with which you try the study yourself"
        )
        parser.add_argument(
            "--amend",
            default="",
            metavar="REASON",
            help="of a study that was opened: what has changed and why. It is kept as a numbered amendment",
        )
        parser.add_argument(
            "--ask-consent-again", action="store_true", help="of --amend: people who have signed are asked once more"
        )
        parser.add_argument(
            "--by", default="", metavar="NAME", help="of --amend: who decides (default: your account's name)"
        )
        add_base_url(parser, links=True)

    def work(
        self,
        file: Path | None,
        skeleton: str,
        out: Path | None,
        *,
        test_link: bool,
        base_url: str,
        **options: Any,
    ) -> dict[str, Any]:
        if skeleton and file:
            self.refuse("Give a study file or --skeleton, not both. --skeleton writes to the file that --out names.")
        if skeleton and test_link:
            self.refuse("--test-link: only with a study file, once it is loaded.")
        if skeleton:
            return self.write_skeleton(skeleton, out)
        if out:
            self.refuse("--out: only with --skeleton.")
        if file is None:
            self.refuse("Name a study file. If you have none, write one: load_study --skeleton minimal --out FILE.toml")
        if options["ask_consent_again"] and not options["amend"]:
            self.refuse("--ask-consent-again: only with --amend, which says what has changed.")
        return self.load(file, explain(options), test_link=test_link, base_url=base_url)

    def write_skeleton(self, name: str, out: Path | None) -> dict[str, Any]:
        text = get_skeleton(name)
        places = marked_places(text)
        if out is None:
            self.stdout.write(text, ending="")
        else:
            self.write_new(out, text)
            first = ", ".join(places[:MOST_PLACES]) + (" …" if len(places) > MOST_PLACES else "")
            self.say(f"{out}: {len(places)} values are marked `{MARK}`: {first}")
            self.say(f"Then load it, and try it yourself: manage.py load_study {out} --test-link")
        return {"skeleton": name, "out": str(out or ""), "fill_in": places}

    def write_new(self, out: Path, text: str) -> None:
        try:
            with out.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            self.refuse(f"{out}: there is such a file, and it was left as it is. Choose another name.")
        except OSError as error:
            self.refuse(f"{out}: {error.strerror}")

    def load(self, file: Path, amendment: AmendmentReason | None, *, test_link: bool, base_url: str) -> dict[str, Any]:
        instruments = [*instrument_ids(), *template_ids()]
        try:
            spec = read_study(
                file,
                instruments=instruments,
                prompt_folder=settings.FIXTURES / "prompts",
                reserved_keys=words_of_addresses(),
            )
        except StudyFileError as error:
            self.refuse("\n".join(f"{file}: {fault}" for fault in error.faults))
        except OSError as error:
            self.refuse(f"{file}: {error.strerror}")
        if over := find_past_days(spec, timezone.now().date()):
            self.refuse("\n".join(f"{file}: {fault}" for fault in over))
        try:
            loaded = load_spec(spec, folder=file.parent, amendment=amendment)
        except AmendmentNeeded:
            self.refuse(
                f"{spec.key} has been opened, so what people meet is fixed. To change it, say what changes and why: "
                '--amend "REASON". People under way keep their version.'
            )
        except LacksLanguages as error:
            self.refuse(
                f"People who are taking part in {error} would be asked for their consent in a language that is not "
                "theirs. Keep that language, or leave out --ask-consent-again."
            )
        except NamesModels as error:
            self.refuse(f"--amend: people who are asked again read this text, and it names {error}. Leave that out.")
        arms = f"{len(spec.arms)} {one_or_more(len(spec.arms), 'arm', 'arms')}"
        self.say(f"{spec.key}: {loaded.outcome}, version {loaded.protocol.version}, {arms}.")
        for line in describe_cards(loaded.cards):
            self.say(line)
        if loaded.protocol.study.stage == Stage.REHEARSAL:
            self.say(
                f"It is in rehearsal: only bots and test links can start. open_study {spec.key} opens it to people."
            )
        for remark in [*remarks(spec), *remark_on_times(spec)]:
            self.stderr.write(f"Note: {remark}")
        unset = list(unset_keys(spec))
        for key in unset:
            self.stderr.write(f"Warning: {key.model} cannot be asked yet: {TO_SET.format(key.variable)}")
        if lacks_drill(loaded.protocol.study):
            self.stderr.write(f"Warning: {get_advice(loaded.protocol.study)}")
        for variable in unset_secrets(spec):
            self.stderr.write(f"Warning: webhooks cannot be signed yet: {TO_SET.format(variable)}")
        summary = {
            "study": spec.key,
            "outcome": loaded.outcome,
            "version": loaded.protocol.version,
            "stage": loaded.protocol.study.stage,
            "unset_keys": [{"model": key.model, "variable": key.variable} for key in unset],
        }
        return summary | self.hand_out_link(loaded.protocol, base_url) if test_link else summary

    def hand_out_link(self, protocol: Protocol, base_url: str) -> dict[str, Any]:
        """Print a personal link of test data, of the track that talks with the arms."""
        chats = [step for step in protocol.spec().steps if step.kind == "chats"]
        track = next((track for track in TRACKS if any(step.is_for(track) for step in chats)), TRACKS[0])
        _person, token = invite(protocol.study, track=track, is_test=True)
        link = f"{base_url.rstrip('/')}/j/{token}/"
        self.stdout.write(f"Try it as a {track}, as test data: {link}")
        return {"test_link": link}


def explain(options: dict[str, Any]) -> AmendmentReason | None:
    """Return the amendment that the options describe; None without a reason."""
    if not options["amend"]:
        return None
    by = options["by"] or getpass.getuser()
    return AmendmentReason(options["amend"], by_name=by, asks_again=options["ask_consent_again"])


def describe_cards(cards: StoredCards) -> Iterator[str]:
    """Yield a line about new role cards, and one about cards that need a decision."""
    if cards.added:
        yield f"{cards.added} {one_or_more(cards.added, 'role card', 'role cards')} added."
    if cards.kept:
        differ = one_or_more(
            cards.kept, "role card differs from the file and was", "role cards differ from it and were"
        )
        yield f"{cards.kept} {differ} left unchanged; import_cards replaces them with the file's."
