"""The tables of an export: what a row is, what each column means, and one query that yields the rows."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

from django.db.models import Avg, BooleanField, Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from dialogue.judges.roles import BY_CODE
from dialogue.languages import CODES
from dialogue.models import Call, InnerState, JobItem, Turn
from dialogue.models.conversation import EndReason, SeekerKind, TurnState
from dialogue.models.conversation import Status as ConversationStatus
from studies.data.exports.columns import (
    REDACTED,
    Column,
    Filter,
    Path,
    Rows,
    Table,
    Then,
    Twofold,
    conversation,
    conversation_of,
    get_rated_turn,
    integer,
    number,
    participant_of,
    query_table,
    rows_of,
    rows_of_names,
    rows_of_things,
    text,
    time,
    truth,
    turn,
    twofold_rows_of,
    words,
)
from studies.data.exports.comparisons import COMPARISONS
from studies.data.exports.decisions import DECISIONS
from studies.data.exports.draws import DRAWS
from studies.data.exports.flags import FLAGS
from studies.data.exports.holds import COLUMNS as HOLDS
from studies.data.exports.interviews import TABLES as INTERVIEWS
from studies.data.exports.profiles import PROFILES
from studies.data.exports.reviews import TABLES as REVIEWS
from studies.data.exports.role_plays import ROLE_PLAYS
from studies.data.exports.seeker_faults import SEEKER_FAULTS, faults
from studies.data.exports.unanswered import build_unanswered_rows, count_unanswered
from studies.instruments.definitions import Questionnaire
from studies.instruments.loading import instrument_ids, load
from studies.instruments.scoring import ScaleScore, score
from studies.models import Answer, Consent, Participation, Response, SelectionScore, Study
from studies.models.participation import Status
from studies.models.response import RaterKind
from studies.participation.responses import answers_to_instructed_items, answers_without_a_scale
from studies.simulation.planning import KIND as SIMULATION

CONDITIONS = ("average", "worst_case")
MOMENTS = ("turn", "checkpoint", "final")
NO_PEOPLE = (RaterKind.JUDGE, RaterKind.SIMULATED_SEEKER)


# participants.csv

CONSENT = Consent.objects.filter(participation=OuterRef("pk")).order_by("-signed_at", "-pk")

SCORES = (
    SelectionScore.objects.filter(participation=OuterRef("pk"))
    .order_by()
    .values("participation")
    .annotate(mean=Avg("total"))
)

PARTICIPANTS = (
    text("participant", "the person's code", "code"),
    text("track", "in which role they take part", values=Participation.Track.values),
    text("language", "in which they take part", values=CODES),
    text(
        "status",
        "where they stand; timed_out: they had begun, and gave no sign of life for as long as the study waits; ended: "
        "the team ended their part",
        values=Status.values,
    ),
    text("order", "the keys of their arms in their order, joined by >", Then("order", ">".join)),
    integer(
        "arms_done",
        "how many of their conversations are closed",
        Count("runs", filter=Q(runs__conversation__status=ConversationStatus.CLOSED)),
        "conversations",
    ),
    text(
        "consent_version",
        "version of the consent form that they signed last",
        Subquery(CONSENT.values("version")[:1]),
    ),
    time("consented_at", "when they signed it", Subquery(CONSENT.values("signed_at")[:1])),
    truth("is_test", "test data: an artificial person, or a try of the researchers"),
    truth("excluded", "left out by a researcher's decision"),
    words("exclusion_reason", "why"),
    time("started_at", "when they opened their link first"),
    time("ended_at", "when their part ended, in whatever way"),
    integer(
        "active_seconds", "time spent on the study, without breaks over 15 minutes; 0 until it ends", unit="seconds"
    ),
    truth(
        "share_deidentified",
        "whether the consent that they signed last allows to share their de-identified data with other researchers; "
        "empty where the form did not ask",
        Subquery(CONSENT.values("boxes__share_deidentified")[:1]),
    ),
    truth(
        "publish_quotes",
        "whether it allows to publish short, altered quotes from their conversations; empty where the form did not ask",
        Subquery(CONSENT.values("boxes__publish_quotes")[:1]),
    ),
    number(
        "selection_score",
        "mean of the points that researchers gave to their application, each the sum over the items of the screening's "
        "selection score; empty without selection by hand",
        Subquery(SCORES.values("mean")[:1]),
        "points",
    ),
    text(
        "selection_decision",
        "what was decided on their application; empty before it, and without selection by hand",
        Then("selection_decision__admitted", {True: "admitted", False: "declined", None: None}.get),
        values=("admitted", "declined"),
    ),
    words("selection_reason", "why, as the researcher or the draw gave it", "selection_decision__reason"),
    integer(
        "amendment",
        "of how many amendments the version of the design is the outcome; 0: as the study was opened, or earlier",
        Coalesce("protocol__amendment__number", 0),
        minimum=0,
    ),
    REDACTED,
)


def participants(study: Study, only: Filter) -> Rows:
    return rows_of(PARTICIPANTS, only.participations(study).order_by("pk"), study, only)


# conversations.csv


def feeling(moment: str, item: str) -> Subquery:
    """Return the query for the seeker's own rating of a feeling before or after this run."""
    answers = Answer.objects.filter(
        response__run=OuterRef("pk"),
        response__rater__participation=OuterRef("participation"),
        response__moment=moment,
        item=item,
    )
    return Subquery(answers.values("value")[:1])


def turns_with_reply() -> Coalesce:
    turns = Turn.objects.filter(conversation=OuterRef("conversation"), state=TurnState.ANSWERED).order_by()
    return Coalesce(Subquery(turns.values("conversation").annotate(count=Count("pk")).values("count")), 0)


def configuration() -> Coalesce:
    items = JobItem.objects.filter(conversation=OuterRef("conversation"), role=SIMULATION)
    return Coalesce(Subquery(items.values("configuration")[:1]), Value(""))


def kinds_of_faults(study: Study, only: Filter) -> dict[int, list[str]]:
    """Return the kinds of faults of simulated seekers, by run. Few runs have any."""
    kinds: dict[int, list[str]] = {}
    rows = faults(study, only).order_by().values_list("conversation__run", "kind").distinct()
    for run, kind in rows.order_by("conversation__run", "kind"):
        kinds.setdefault(run, []).append(kind)
    return kinds


CONVERSATIONS = (
    conversation(),
    text(
        "participant", "the seeker's code; of an import as the file says; empty for simulated seekers", participant_of()
    ),
    text("arm", "the key of the arm"),
    text("model", "the arm's model, as the study names it"),
    text(
        "condition", "how hard the seeker was to help; empty where the study has no such conditions", values=CONDITIONS
    ),
    text("seeker_kind", "who the seeker was", "conversation__seeker_kind", SeekerKind.values),
    text("profile", "the key of the seeker's profile: of a role card, a simulated or an imported seeker"),
    text("card", "the key of the role card that a counsellor played"),
    text("topic", "what it was to be about, as the person chose it"),
    text(
        "language",
        "of the conversation; where the person switched, the one that it was held in last",
        "conversation__language",
        CODES,
    ),
    integer(
        "position",
        "which of the person's conversations it was, from 1; empty for imported and simulated ones",
        Then("position", lambda position: position or None),
    ),
    integer("turns", "turns with a reply", turns_with_reply(), "turns"),
    time("started_at", "first message; empty for imports", "conversation__started_at"),
    time("ended_at", "when it was closed; empty for imports", "conversation__ended_at"),
    text("end_reason", "how it ended; empty while it is open", "conversation__end_reason", EndReason.values),
    number(
        "valence_before",
        "check before the chat: unpleasant to pleasant",
        feeling("pre", "valence"),
        "points",
        minimum=1,
        maximum=9,
    ),
    number(
        "valence_after",
        "check after the chat: unpleasant to pleasant",
        feeling("post", "valence"),
        "points",
        minimum=1,
        maximum=9,
    ),
    number(
        "arousal_before",
        "check before the chat: calm to stirred up",
        feeling("pre", "arousal"),
        "points",
        minimum=1,
        maximum=9,
    ),
    number(
        "arousal_after",
        "check after the chat: calm to stirred up",
        feeling("post", "arousal"),
        "points",
        minimum=1,
        maximum=9,
    ),
    number(
        "intensity_before",
        "check before the chat: how strong the feeling named then is",
        feeling("pre", "intensity"),
        "points",
        minimum=1,
        maximum=5,
    ),
    number(
        "intensity_after",
        "check after the chat: how strong the feeling named before is now (intensity_of_pre_emotion); where that was "
        "not asked, how strong the feeling named after the chat is (intensity)",
        Coalesce(feeling("post", "intensity_of_pre_emotion"), feeling("post", "intensity")),
        "points",
        minimum=1,
        maximum=5,
    ),
    number(
        "perceived_change",
        "check after the chat: much worse to much better",
        feeling("post", "perceived_change"),
        "points",
        minimum=1,
        maximum=5,
    ),
    integer("protocol_version", "the version of the study's design, as in manifest.json", "protocol__version"),
    truth(
        "valid",
        "false where a researcher decided to leave it out, where a simulated seeker fell out of its part, and where "
        "in its place another configuration was held, or asked for again, last",
    ),
    truth("is_test", "test data"),
    integer("min_turns", "how many turns the study asked for; 1 for imports", "conversation__min_turns", "turns"),
    text("setup", "how a simulated seeker was changed for an ablation; empty for the whole, and for people"),
    integer(
        "replicate",
        "which of several simulations of the same, from 1; empty for others",
        Case(When(conversation__seeker_kind=SeekerKind.SIMULATED, then=F("replicate"))),
    ),
    text(
        "seeker_faults",
        "kinds of faults of a simulated seeker, joined by ; (see seeker_faults.csv)",
        Then("pk", lambda run, kinds: ";".join(kinds.get(run, ())), kinds_of_faults),
    ),
    text(
        "configuration",
        "of a simulation: hash of the models, prompts, profile and turns at most with which it was held; empty for "
        "others",
        configuration(),
    ),
    text(
        "earlier_languages",
        "those in which something was said before the person switched, joined by >; mostly empty",
        Then("conversation__earlier_languages", ">".join),
    ),
    *HOLDS,
    text(
        "opening",
        "what the supporter said before the first turn; empty where the seeker spoke first. It is no turn, and has no "
        "row in turns.csv",
        "conversation__opening",
    ),
    integer(
        "amendment",
        "of how many amendments the version of the design is the outcome; 0: as the study was opened, or earlier",
        Coalesce("protocol__amendment__number", 0),
        minimum=0,
    ),
)


def conversations(study: Study, only: Filter) -> Rows:
    return rows_of(CONVERSATIONS, only.runs(study).order_by("pk"), study, only)


# turns.csv


def of_message(source: Path) -> Twofold:
    """Return the source of a column that is empty beside replies."""
    return Twofold(source, None)


def of_reply(source: Path) -> Twofold:
    """Return the source of a column that is empty beside the seeker's messages."""
    return Twofold(None, source)


def null_if_imported(field: str) -> Case:
    """Return a truth value. No one watched the screen of an imported conversation, or looked for a name in it."""
    imported = When(conversation__seeker_kind=SeekerKind.IMPORTED, then=Value(None))
    return Case(imported, default=F(field), output_field=BooleanField())


def value_if_unanswered(field: str, otherwise: Any) -> Case:
    return Case(When(~Q(state=TurnState.ANSWERED), then=F(field)), default=Value(otherwise))


ATTEMPTS = Then("attempts", lambda attempts: attempts or None)  # no one asked a model for an imported reply
ATTEMPTS_IN_VAIN = Then(value_if_unanswered("attempts", None), lambda attempts: attempts or None)


TURNS = (
    conversation("conversation__run__"),
    turn("number"),
    text("role", "who wrote it", Twofold(Value("seeker"), Value("supporter")), ("seeker", "supporter")),
    words("text", "as it was shown; may be empty in imports", Twofold("text", "reply")),
    time("created_at", "when it was stored; empty for imports", Twofold("created_at", "replied_at")),
    integer(
        "first_token_ms",
        "of a reply: from the request to the first piece of text",
        of_reply("first_token_ms"),
        "milliseconds",
    ),
    integer("total_ms", "of a reply: from the request to its end", of_reply("total_ms"), "milliseconds"),
    integer("input_tokens", "of a reply, as the model's server counts them", of_reply("input_tokens"), "tokens"),
    integer("output_tokens", "of a reply, as the model's server counts them", of_reply("output_tokens"), "tokens"),
    integer(
        "attempts",
        "requests made for the reply; beside the seeker's message where none came",
        Twofold(ATTEMPTS_IN_VAIN, ATTEMPTS),
        "requests",
    ),
    truth(
        "seen",
        "the reply was on the person's screen; empty for the seeker's messages and for imports",
        of_reply(null_if_imported("seen")),
    ),
    truth(
        "masked",
        "something else was shown in place of the model's reply or of a part of it: the safety text, or a name hidden; "
        "empty for the seeker's messages",
        of_reply("masked"),
    ),
    text(
        "error",
        "beside the seeker's message where no reply came: what the last attempt failed of",
        Twofold(value_if_unanswered("error", ""), "error"),
    ),
    REDACTED,
    text("emotion", "of imports: the seeker's emotion, as the file says", Twofold("emotion", Value(""))),
    truth(
        "names_itself",
        "of a reply: the model named itself or its maker in it, whether or not that was shown (see masked); empty for "
        "the seeker's messages and for imports",
        of_reply(null_if_imported("names_itself")),
    ),
    integer(
        "reading_ms",
        "of a message: from the end of the reply before it to its first key; empty where it was not measured",
        of_message("reading_ms"),
        "milliseconds",
    ),
    integer(
        "typing_ms",
        "of a message: from its first key to sending; empty where it was not measured",
        of_message("typing_ms"),
        "milliseconds",
    ),
    integer(
        "focus_losses",
        "of a message: how often the page was left for another while the turn was the person's; empty where it was not "
        "measured",
        of_message("focus_losses"),
        "times",
    ),
    truth(
        "pasted",
        "of a message: text was pasted into it; empty where it was not measured",
        of_message("pasted"),
    ),
)


def turns_of(study: Study, only: Filter) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation__run__in=only.runs(study))


def turns(study: Study, only: Filter) -> Rows:
    """Yield the seeker's message of each turn and, where there is one, the reply."""
    rows = turns_of(study, only).order_by("conversation__run__pk", "number")
    is_answered = Column("", "", Twofold("state", None))
    for (*message, state), (*reply, _) in twofold_rows_of((*TURNS, is_answered), rows, study, only):
        yield tuple(message)
        if state == TurnState.ANSWERED:
            yield tuple(reply)


def count_messages(study: Study, only: Filter) -> int:
    rows = turns_of(study, only)
    return rows.count() + rows.filter(state=TurnState.ANSWERED).count()


# states.csv

STATES = (
    conversation("conversation__run__"),
    turn(),
    text("source", "the key of the judge whose model was the Thinker; 'seeker': a simulated seeker's own"),
    words("cognition", "what the seeker is supposed to think after the reply"),
    words("emotion", "what they are supposed to feel"),
    words("goal", "what they are supposed to want"),
    number("emotion_score", "how well they are supposed to feel", unit="points", minimum=0, maximum=100),
    REDACTED,
)


def states(study: Study, only: Filter) -> QuerySet[InnerState]:
    rows = InnerState.objects.filter(conversation__run__in=only.runs(study))
    return rows.order_by("conversation__run__pk", "turn", "source")


# ratings.csv and answers.csv part the answers between them.

SECONDS = number(
    "seconds",
    "time with the page in view from the answer before it (or the page's opening) to the last change of this one; "
    "empty where it was not measured",
    unit="seconds",
)

RATINGS = (
    conversation("response__run__"),
    text(
        "participant",
        "the conversation's seeker, whoever the rater is; empty for simulated seekers",
        participant_of("response__run__"),
    ),
    text("arm", "the arm of the conversation", "response__run__arm"),
    text("condition", "of the conversation", "response__run__condition", CONDITIONS),
    text("rater", "the person's code, or the judge's key", "response__rater__code"),
    text("rater_kind", "in which role they rated", "response__rater__kind", RaterKind.values),
    text("strategy", "of a judge; empty for people", "response__rater__strategy"),
    integer(
        "replicate",
        "of a judge: which of several answers to the same question, from 1; of a reviewer: 2 where a conversation came "
        "again, to see how steadily they rate",
        "response__replicate",
    ),
    text(
        "instrument",
        "the rating scale; its items are listed in codebook.csv under its own name",
        "response__instrument",
    ),
    text("item", "the item's key"),
    text(
        "moment",
        "what was rated: one reply, the turns up to a checkpoint, or the whole conversation",
        "response__moment",
        MOMENTS,
    ),
    integer(
        "turn",
        "the last turn that was rated: of one reply its own, of a checkpoint the last before it, of a final rating the "
        "last that its rater was shown (where that was not recorded, the last with a reply)",
        get_rated_turn("response__"),
        "turns",
    ),
    number("score", "empty where it is missing; never a guess", "value", "points"),
    text(
        "missing_reason",
        "why the score is missing; of a question that a judge has not answered at all the failure of the call, such as "
        "refused or timeout, until it is asked again",
    ),
    time(
        "rated_at",
        "when it was stored, or failed; of an import the time of the import",
        "response__submitted_at",
    ),
    text(
        "role",
        "of a judge: as whom it rated. As seeker it read the items in the first person; as evaluator (from outside) "
        "and as third_person (role = rubric) in the third. Empty of imports without it, and for people: seekers read "
        "the first person, experts and reviewers the third",
        "response__role",
        tuple(BY_CODE),
    ),
    text(
        "prompt",
        "of a model's answers: the standing text by which it was asked, with its version as in prompt_version of "
        "calls.csv, and after # the beginning of its SHA-256; empty for people",
        "response__prompt",
    ),
    integer(
        "first_turn",
        "the first of the turns that the rating was given on; of a judge: the first that it was shown; empty where it "
        "was not recorded, as of imports",
        "response__first_turn",
        "turns",
    ),
    integer(
        "last_turn",
        "the last of them: the last whose reply had been on the rater's screen; of a judge: the last that it was shown",
        "response__last_turn",
        "turns",
    ),
    SECONDS,
    words("reason", "why this score, where the rater said so"),
    integer(
        "item_position", "in which place of its page the item stood, from 1; empty of judges and imports", "position"
    ),
    REDACTED,
)


def is_rating_answer() -> Q:
    of_a_conversation = Q(response__is_rating=True, response__run__isnull=False)
    return of_a_conversation & ~answers_without_a_scale() & ~answers_to_instructed_items()


def ratings(study: Study, only: Filter) -> Rows:
    yield from rows_of(RATINGS, rated_answers(study, only), study, only)
    yield from rows_of_names(RATINGS, build_unanswered_rows(study, only))


def rated_answers(study: Study, only: Filter) -> QuerySet[Answer]:
    return only.answers(study).filter(is_rating_answer()).order_by("response", "pk")


def count_ratings(study: Study, only: Filter) -> int:
    return only.answers(study).filter(is_rating_answer()).count() + count_unanswered(study, only)


ANSWERS = (
    text("participant", "the code of the person who answered", "response__rater__code"),
    text(
        "conversation",
        "what it was about, as in conversations.csv; empty for questions about the person",
        conversation_of("response__run__"),
    ),
    text(
        "instrument",
        "the questionnaire; its items are listed in codebook.csv under its own name",
        "response__instrument",
    ),
    text("version", "of the instrument", "response__version"),
    text(
        "item", "the item's key, also of an open question of a rating form; comment is the closing remark to a rating"
    ),
    text(
        "moment",
        "before or after a conversation, or that of the rating whose form asked; final of the guesses which arm it was",
        "response__moment",
        ("pre", "post", *MOMENTS),
    ),
    number("value", "of scales and whole numbers; 1 for a ticked box", unit="points"),
    words("text", "the key of the chosen option, of the arm that was guessed, a country's code, or what was written"),
    text("missing_reason", "why there is neither", values=("prefer_not", "not_answered")),
    time("answered_at", "when the page was sent", "response__submitted_at"),
    SECONDS,
    integer(
        "turn",
        "of a remark, an open question or an instructed item of a rating form: that of the rating",
        get_rated_turn("response__"),
        "turns",
    ),
    REDACTED,
)


def other_answers(study: Study, only: Filter) -> QuerySet[Answer]:
    return only.answers(study).exclude(is_rating_answer()).order_by("response", "pk")


# scales.csv


class ScoredScale(NamedTuple):
    """A scored scale of one response."""

    person: str
    conversation: str | None
    instrument: str
    moment: str
    turn: int | None
    result: ScaleScore


SCALES = (
    text("participant", "the code of the person who answered", "person"),
    text("conversation", "what it was about, as in conversations.csv; empty for a person's own scales"),
    text("instrument", "the questionnaire or rating scale"),
    text(
        "scale",
        "the (sub)scale or facet; they are listed in codebook.csv under the instrument's own name",
        "result.scale",
    ),
    text("moment", "as in answers.csv and ratings.csv"),
    number(
        "score",
        "mean of its items, reversed where they are keyed so; empty where too few were answered",
        "result.score",
        "points",
    ),
    integer("items_answered", "how many of its items have an answer", "result.items_answered", "items"),
    integer("turn", "as in ratings.csv", unit="turns"),
)


def scaled_instruments() -> dict[str, Questionnaire]:
    """Return the instruments that have scales to score."""
    return {id: questionnaire for id in instrument_ids() if (questionnaire := load(id)).scales}


def people_on_scales(study: Study, only: Filter) -> QuerySet[Response]:
    """Return what people answered here. Imports have no version, and may use an instrument's name otherwise."""
    answered = Exists(Answer.objects.filter(response=OuterRef("pk")))
    responses = only.responses(study).filter(answered, instrument__in=scaled_instruments(), replicate=1)
    return responses.exclude(version="").exclude(rater__kind__in=NO_PEOPLE)


def scales(study: Study, only: Filter) -> Rows:
    return rows_of_things(SCALES, score_scales(study, only))


def score_scales(study: Study, only: Filter) -> Iterator[ScoredScale]:
    questionnaires = scaled_instruments()
    answers = Answer.objects.filter(response__in=people_on_scales(study, only)).order_by("response", "pk")
    rows = answers.values_list(
        "response",
        "response__rater__code",
        conversation_of("response__run__"),
        "response__instrument",
        "response__moment",
        get_rated_turn("response__"),
        "item",
        "value",
    )
    for (_response, *about), items in groupby(rows.iterator(), _without_item):
        instrument = questionnaires[about[2]]
        for result in score(instrument, {item: value for *_of, item, value in items}):
            yield ScoredScale(*about, result)


def _without_item(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row[:-2]


def count_scales(study: Study, only: Filter) -> int:
    scales_in = {id: len(score(questionnaire, {})) for id, questionnaire in scaled_instruments().items()}
    counts = people_on_scales(study, only).order_by().values_list("instrument").annotate(Count("pk"))
    return sum(scales_in[instrument] * count for instrument, count in counts)


# calls.csv

CALLS = (
    integer("call", "the attempt's number in the ledger", "pk"),
    text("purpose", "what a model was asked for", values=Call.Purpose.values),
    text("model", "as the study names it"),
    conversation("conversation__run__"),
    turn(),
    text("status", "ok, or what went wrong"),
    integer("attempts", "which attempt at the same reply this was, from 1", "attempt"),
    integer("first_token_ms", "from the request to the first piece of text", unit="milliseconds"),
    integer("total_ms", "from the request to the end", unit="milliseconds"),
    integer("input_tokens", "as the model's server counts them", unit="tokens"),
    integer("output_tokens", "as the model's server counts them", unit="tokens"),
    number("cost", "empty where no price is known", unit="the price table's currency"),
    text("prices", "the version of the price table"),
    integer("replicate", "of answers that were asked for several times, which one"),
    integer("cached_tokens", "of the input, what the provider had from before", unit="tokens"),
    integer("reasoning_tokens", "of the output, what the model thought and did not say", unit="tokens"),
    text("prompt_version", "of the standing text of the prompt; empty for supporters, whose prompts the study has"),
    text("model_returned", "the model as its server names it"),
    text("judge", "the judge's key, where a judge was asked", "item__job__plan__judge__key"),
    text("finish_reason", "why the answer ended, as the server says: stop, length …"),
)


def calls_of(study: Study, only: Filter) -> QuerySet[Call]:
    return Call.objects.filter(conversation__run__in=only.runs(study)).order_by("pk")


TABLES = (
    Table(
        "participants",
        "a person",
        PARTICIPANTS,
        participants,
        lambda study, only: only.participations(study).count(),
        always=True,
    ),
    Table(
        "conversations",
        "a conversation",
        CONVERSATIONS,
        conversations,
        lambda study, only: only.runs(study).count(),
        always=True,
    ),
    Table("turns", "a message", TURNS, turns, count_messages, always=True),
    Table("ratings", "a score of one item by one rater, person or judge", RATINGS, ratings, count_ratings, always=True),
    query_table("answers", "an answer to an item that is no rating", ANSWERS, other_answers),
    Table("scales", "a scored (sub)scale", SCALES, scales, count_scales),
    query_table("states", "an inner state of a Thinker", STATES, states),
    query_table("calls", "a model call", CALLS, calls_of),
    COMPARISONS,
    ROLE_PLAYS,
    FLAGS,
    *INTERVIEWS,
    *REVIEWS,
    DECISIONS,
    PROFILES,
    SEEKER_FAULTS,
    DRAWS,
)
