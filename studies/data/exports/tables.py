"""The tables of an export: what a row is, what each column means, and one query that yields the rows."""

from itertools import groupby
from typing import Any

from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from dialogue.models import Call, InnerState, JobItem, Turn
from dialogue.models.conversation import EndReason, SeekerKind, TurnState
from dialogue.models.conversation import Status as ConversationStatus
from studies.data.exports.columns import (
    CONVERSATION,
    TURN,
    Filter,
    Rows,
    Table,
    conversation_of,
    integer,
    number,
    participant_of,
    text,
    time,
    truth,
    turn_rated,
)
from studies.data.exports.comparisons import PAIRS, count_pairs, pairs
from studies.data.exports.decisions import DECISIONS
from studies.data.exports.flags import FLAGS, count_flags, flags
from studies.data.exports.holds import COLUMNS as HOLDS
from studies.data.exports.holds import Holds, holds
from studies.data.exports.interviews import TABLES as INTERVIEWS
from studies.data.exports.reviews import TABLES as REVIEWS
from studies.data.exports.role_plays import ROLE_PLAYS
from studies.data.exports.seeker_faults import SEEKER_FAULTS, faults_of
from studies.data.exports.unanswered import count_unanswered, unanswered
from studies.instruments.definitions import Questionnaire
from studies.instruments.forms import COMMENT
from studies.instruments.loading import instrument_ids, load
from studies.instruments.scoring import score
from studies.models import Answer, Consent, Participation, Response, Study
from studies.models.participation import Status
from studies.models.response import RaterKind
from studies.participation.responses import answers_to_instructed_items
from studies.simulation.planning import KIND as SIMULATION

CONDITIONS = ("average", "worst_case")
MOMENTS = ("turn", "checkpoint", "final")
NO_PEOPLE = (RaterKind.JUDGE, RaterKind.SIMULATED_SEEKER)


# participants.csv

PARTICIPANTS = (
    text("participant", "the person's code"),
    text("track", "in which role they take part", Participation.Track.values),
    text("language", "in which they take part", ("en", "zh")),
    text(
        "status",
        "where they stand; timed_out: they had begun, and gave no sign of life for as long as the study waits",
        Status.values,
    ),
    text("order", "the keys of their arms in their order, joined by >"),
    integer("arms_done", "how many of their conversations are closed", "conversations"),
    text("consent_version", "version of the consent form that they signed last"),
    time("consented_at", "when they signed it"),
    truth("is_test", "test data: an artificial person, or a try of the researchers"),
    truth("excluded", "left out by a researcher's decision"),
    text("exclusion_reason", "why"),
    time("started_at", "when they opened their link first"),
    time("ended_at", "when their part ended, in whatever way"),
    integer("active_seconds", "time spent on the study, without breaks over 15 minutes; 0 until it ends", "seconds"),
)


def participants(study: Study, only: Filter) -> Rows:
    consent = Consent.objects.filter(participation=OuterRef("pk")).order_by("-signed_at", "-pk")
    rows = only.participations(study).annotate(
        arms_done=Count("runs", filter=Q(runs__conversation__status=ConversationStatus.CLOSED)),
        consent_version=Subquery(consent.values("version")[:1]),
        consented_at=Subquery(consent.values("signed_at")[:1]),
    )
    names = [column.name for column in PARTICIPANTS[1:]]
    for code, *row in rows.order_by("pk").values_list("code", *names).iterator():
        row[names.index("order")] = ">".join(row[names.index("order")])
        yield code, *row


# conversations.csv

CONVERSATIONS = (
    CONVERSATION,
    text("participant", "the seeker's code; of an import as the file says; empty for simulated seekers"),
    text("arm", "the key of the arm"),
    text("model", "the arm's model, as the study names it"),
    text("condition", "how hard the seeker was to help; empty where the study has no such conditions", CONDITIONS),
    text("seeker_kind", "who the seeker was", SeekerKind.values),
    text("profile", "the key of the seeker's profile: of a role card, a simulated or an imported seeker"),
    text("card", "the key of the role card that a counsellor played"),
    text("topic", "what it was to be about, as the person chose it"),
    text("language", "of the conversation; where the person switched, the one that it was held in last", ("en", "zh")),
    integer("position", "which of the person's conversations it was, from 1; empty for imported and simulated ones"),
    integer("turns", "turns with a reply", "turns"),
    time("started_at", "first message; empty for imports"),
    time("ended_at", "when it was closed; empty for imports"),
    text("end_reason", "how it ended; empty while it is open", EndReason.values),
    number("valence_before", "check before the chat: unpleasant to pleasant", "points", 1, 9),
    number("valence_after", "check after the chat: unpleasant to pleasant", "points", 1, 9),
    number("arousal_before", "check before the chat: calm to stirred up", "points", 1, 9),
    number("arousal_after", "check after the chat: calm to stirred up", "points", 1, 9),
    number("intensity_before", "check before the chat: how strong the feeling named then is", "points", 1, 5),
    number(
        "intensity_after",
        "check after the chat: how strong the feeling named before is now (intensity_of_pre_emotion); where that was "
        "not asked, how strong the feeling named after the chat is (intensity)",
        "points",
        1,
        5,
    ),
    number("perceived_change", "check after the chat: much worse to much better", "points", 1, 5),
    integer("protocol_version", "the version of the study's design, as in manifest.json"),
    truth(
        "valid",
        "false where a researcher decided to leave it out, where a simulated seeker fell out of its part, and where "
        "in its place another configuration was held, or asked for again, last",
    ),
    truth("is_test", "test data"),
    integer("min_turns", "how many turns the study asked for; 1 for imports", "turns"),
    text("setup", "how a simulated seeker was changed for an ablation; empty for the whole, and for people"),
    integer("replicate", "which of several simulations of the same, from 1; empty for others"),
    text("seeker_faults", "kinds of faults of a simulated seeker, joined by ; (see seeker_faults.csv)"),
    text(
        "configuration",
        "of a simulation: hash of the models, prompts, profile and turns at most with which it was held; empty for "
        "others",
    ),
    text(
        "earlier_languages", "those in which something was said before the person switched, joined by >; mostly empty"
    ),
    *HOLDS,
)


def conversations(study: Study, only: Filter) -> Rows:
    rows = only.runs(study).values_list(
        conversation_of(),
        participant_of(),
        "arm",
        "model",
        "condition",
        "conversation__seeker_kind",
        "profile",
        "card",
        "topic",
        "conversation__language",
        "position",
        turns_with_reply(),
        "conversation__started_at",
        "conversation__ended_at",
        "conversation__end_reason",
        felt("pre", "valence"),
        felt("post", "valence"),
        felt("pre", "arousal"),
        felt("post", "arousal"),
        felt("pre", "intensity"),
        Coalesce(felt("post", "intensity_of_pre_emotion"), felt("post", "intensity")),
        felt("post", "perceived_change"),
        "protocol__version",
        "valid",
        "is_test",
        "conversation__min_turns",
        "setup",
        Case(When(conversation__seeker_kind=SeekerKind.SIMULATED, then=F("replicate"))),
        configuration(),
        "conversation__earlier_languages",
    )
    position = [column.name for column in CONVERSATIONS].index("position")
    faults, held = kinds_of_faults(study, only), holds(study, only)
    for row in rows.order_by("pk").iterator():
        *before, held_with, languages = row
        before[position] = before[position] or None
        yield *before, ";".join(faults.get(row[0], ())), held_with, ">".join(languages), *held.get(row[0], Holds())


def configuration() -> Coalesce:
    items = JobItem.objects.filter(conversation=OuterRef("conversation"), role=SIMULATION)
    return Coalesce(Subquery(items.values("configuration")[:1]), Value(""))


def kinds_of_faults(study: Study, only: Filter) -> dict[str, list[str]]:
    """Of simulated seekers, by the conversation's id. Few have any."""
    kinds: dict[str, list[str]] = {}
    rows = faults_of(study, only).values_list(conversation_of("conversation__run__"), "kind").distinct()
    for conversation, kind in rows.order_by("conversation", "kind"):
        kinds.setdefault(conversation, []).append(kind)
    return kinds


def turns_with_reply() -> Coalesce:
    turns = Turn.objects.filter(conversation=OuterRef("conversation"), state=TurnState.ANSWERED).order_by()
    return Coalesce(Subquery(turns.values("conversation").annotate(count=Count("pk")).values("count")), 0)


def felt(moment: str, item: str) -> Subquery:
    """What the seeker said of their feelings before or after this run."""
    answers = Answer.objects.filter(
        response__run=OuterRef("pk"),
        response__rater__participation=OuterRef("participation"),
        response__moment=moment,
        item=item,
    )
    return Subquery(answers.values("value")[:1])


# turns.csv

TURNS = (
    CONVERSATION,
    TURN,
    text("role", "who wrote it", ("seeker", "supporter")),
    text("text", "as it was shown; may be empty in imports"),
    time("created_at", "when it was stored; empty for imports"),
    integer("first_token_ms", "of a reply: from the request to the first piece of text", "milliseconds"),
    integer("total_ms", "of a reply: from the request to its end", "milliseconds"),
    integer("input_tokens", "of a reply, as the model's server counts them", "tokens"),
    integer("output_tokens", "of a reply, as the model's server counts them", "tokens"),
    integer("attempts", "requests made for the reply; beside the seeker's message where none came", "requests"),
    truth("seen", "the reply was on the person's screen; empty for the seeker's messages and for imports"),
    truth(
        "masked",
        "something else was shown in place of the model's reply or of a part of it: the safety text, or a name hidden; "
        "empty for the seeker's messages",
    ),
    text("error", "beside the seeker's message where no reply came: what the last attempt failed of"),
    text("emotion", "of imports: the seeker's emotion, as the file says"),
    truth(
        "names_itself",
        "of a reply: the model named itself or its maker in it, whether or not that was shown (see masked); empty for "
        "the seeker's messages and for imports",
    ),
    integer(
        "reading_ms",
        "of a message: from the end of the reply before it to its first key; empty where it was not measured",
        "milliseconds",
    ),
    integer(
        "typing_ms", "of a message: from its first key to sending; empty where it was not measured", "milliseconds"
    ),
    integer(
        "focus_losses",
        "of a message: how often the page was left for another while the turn was the person's; empty where it was not "
        "measured",
        "times",
    ),
    truth("pasted", "of a message: text was pasted into it; empty where it was not measured"),
)
MEASURED_OF_MESSAGE = ("reading_ms", "typing_ms", "focus_losses", "pasted")


def turns_of(study: Study, only: Filter) -> QuerySet[Turn]:
    return Turn.objects.filter(conversation__run__in=only.runs(study))


def turns(study: Study, only: Filter) -> Rows:
    found = turns_of(study, only).annotate(
        of=conversation_of("conversation__run__"), seeker_kind=F("conversation__seeker_kind")
    )
    names = (
        "number",
        "state",
        "text",
        "created_at",
        "emotion",
        "reply",
        "replied_at",
        "first_token_ms",
        "total_ms",
        "input_tokens",
        "output_tokens",
        "attempts",
        "seen",
        "masked",
        "error",
        "names_itself",
        *MEASURED_OF_MESSAGE,
    )
    rows = found.order_by("conversation__run__pk", "number").values_list("of", "seeker_kind", *names, named=True)
    for turn in rows.iterator():
        yield from messages_of(turn)


def messages_of(turn: Any) -> Rows:
    """The seeker's message and, where there is one, the reply."""
    of = turn.of, turn.number
    answered = turn.state == TurnState.ANSWERED
    attempts = turn.attempts or None  # nobody asked a model for an imported reply
    nothing_measured = None, None, None, None
    failed = (None, "") if answered else (attempts, turn.error)
    said = turn.text, turn.created_at, *nothing_measured, failed[0], None, None, failed[1], turn.emotion
    yield *of, "seeker", *said, None, *(getattr(turn, name) for name in MEASURED_OF_MESSAGE)
    if answered:
        measured = turn.first_token_ms, turn.total_ms, turn.input_tokens, turn.output_tokens
        # Nobody watched the screen of an imported conversation, or looked for a name in it.
        seen, names_itself = (None, None) if turn.seeker_kind == SeekerKind.IMPORTED else (turn.seen, turn.names_itself)
        said = turn.reply, turn.replied_at, *measured, attempts, seen, turn.masked, turn.error, ""
        yield *of, "supporter", *said, names_itself, *nothing_measured


def count_messages(study: Study, only: Filter) -> int:
    found = turns_of(study, only)
    return found.count() + found.filter(state=TurnState.ANSWERED).count()


# states.csv

STATES = (
    CONVERSATION,
    TURN,
    text("source", "the key of the judge whose model was the Thinker; 'seeker': a simulated seeker's own"),
    text("cognition", "what the seeker is supposed to think after the reply"),
    text("emotion", "what they are supposed to feel"),
    text("goal", "what they are supposed to want"),
    number("emotion_score", "how well they are supposed to feel", "points", 0, 100),
)


def states_of(study: Study, only: Filter) -> QuerySet[InnerState]:
    return InnerState.objects.filter(conversation__run__in=only.runs(study))


def states(study: Study, only: Filter) -> Rows:
    names = [column.name for column in STATES[1:]]
    found = states_of(study, only).order_by("conversation__run__pk", "turn", "source")
    yield from found.values_list(conversation_of("conversation__run__"), *names).iterator()


# ratings.csv and answers.csv part the answers between them.

SECONDS = number(
    "seconds",
    "time with the page in view from the answer before it (or the page's opening) to the last change of this one; "
    "empty where it was not measured",
    "seconds",
)

RATINGS = (
    CONVERSATION,
    text("participant", "the conversation's seeker, whoever the rater is; empty for simulated seekers"),
    text("arm", "the arm of the conversation"),
    text("condition", "of the conversation", CONDITIONS),
    text("rater", "the person's code, or the judge's key"),
    text("rater_kind", "in which role they rated", RaterKind.values),
    text("strategy", "of a judge; empty for people"),
    integer(
        "replicate",
        "of a judge: which of several answers to the same question, from 1; of a reviewer: 2 where a conversation came "
        "again, to see how steadily they rate",
    ),
    text("instrument", "the rating scale; its items are listed in codebook.csv under its own name"),
    text("item", "the item's key"),
    text("moment", "what was rated: one reply, the turns up to a checkpoint, or the whole conversation", MOMENTS),
    integer(
        "turn",
        "the last turn that was rated: of one reply its own, of a checkpoint the last before it, of a final rating the "
        "last that its rater was shown (where that was not recorded, the last with a reply)",
        "turns",
    ),
    number("score", "empty where it is missing; never a guess", "points"),
    text(
        "missing_reason",
        "why the score is missing; of a question that a judge has not answered at all the failure of the call, such as "
        "refused or timeout, until it is asked again",
    ),
    time("rated_at", "when it was stored, or failed; of an import the time of the import"),
    integer(
        "first_turn",
        "the first of the turns that the rating was given on; of a judge: the first that it was shown; empty where it "
        "was not recorded, as of imports",
        "turns",
    ),
    integer(
        "last_turn",
        "the last of them: the last whose reply had been on the rater's screen; of a judge: the last that it was shown",
        "turns",
    ),
    SECONDS,
    text("reason", "why this score, where the rater said so"),
)


def a_rating() -> Q:
    of_a_conversation = Q(response__is_rating=True, response__run__isnull=False)
    return of_a_conversation & ~Q(item=COMMENT, value__isnull=True) & ~answers_to_instructed_items()


def ratings(study: Study, only: Filter) -> Rows:
    yield from rated(study, only).iterator()
    yield from unanswered(study, only)


def rated(study: Study, only: Filter) -> QuerySet[Answer, tuple[Any, ...]]:
    """The columns as they are written, so that a million rows need no look at each."""
    found = only.answers(study).filter(a_rating()).order_by("response", "pk")
    return found.values_list(
        conversation_of("response__run__"),
        participant_of("response__run__"),
        "response__run__arm",
        "response__run__condition",
        "response__rater__code",
        "response__rater__kind",
        "response__rater__strategy",
        "response__replicate",
        "response__instrument",
        "item",
        "response__moment",
        turn_rated("response__"),
        "value",
        "missing_reason",
        "response__submitted_at",
        "response__first_turn",
        "response__last_turn",
        "seconds",
        "reason",
    )


def count_ratings(study: Study, only: Filter) -> int:
    return only.answers(study).filter(a_rating()).count() + count_unanswered(study, only)


ANSWERS = (
    text("participant", "the code of the person who answered"),
    text("conversation", "what it was about, as in conversations.csv; empty for questions about the person"),
    text("instrument", "the questionnaire; its items are listed in codebook.csv under its own name"),
    text("version", "of the instrument"),
    text("item", "the item's key; comment is the closing remark to a rating"),
    text(
        "moment",
        "before or after a conversation, or that of the rating it comments on; final of the guesses which arm it was",
        ("pre", "post", *MOMENTS),
    ),
    number("value", "of scales and whole numbers; 1 for a ticked box", "points"),
    text("text", "the key of the chosen option, of the arm that was guessed, a country's code, or what was written"),
    text("missing_reason", "why there is neither", ("prefer_not", "not_answered")),
    time("answered_at", "when the page was sent"),
    SECONDS,
    integer("turn", "of a remark or an instructed item beside a rating: that of the rating", "turns"),
)


def answers(study: Study, only: Filter) -> Rows:
    found = only.answers(study).exclude(a_rating()).order_by("response", "pk")
    yield from found.values_list(
        "response__rater__code",
        conversation_of("response__run__"),
        "response__instrument",
        "response__version",
        "item",
        "response__moment",
        "value",
        "text",
        "missing_reason",
        "response__submitted_at",
        "seconds",
        turn_rated("response__"),
    ).iterator()


def count_answers(study: Study, only: Filter) -> int:
    return only.answers(study).exclude(a_rating()).count()


# scales.csv

SCALES = (
    text("participant", "the code of the person who answered"),
    text("conversation", "what it was about, as in conversations.csv; empty for a person's own scales"),
    text("instrument", "the questionnaire or rating scale"),
    text("scale", "the (sub)scale or facet; they are listed in codebook.csv under the instrument's own name"),
    text("moment", "as in answers.csv and ratings.csv"),
    number("score", "mean of its items, reversed where they are keyed so; empty where too few were answered", "points"),
    integer("items_answered", "how many of its items have an answer", "items"),
    integer("turn", "as in ratings.csv", "turns"),
)


def scaled_instruments() -> dict[str, Questionnaire]:
    """Those that have scales to score."""
    return {id: questionnaire for id in instrument_ids() if (questionnaire := load(id)).scales}


def people_on_scales(study: Study, only: Filter) -> QuerySet[Response]:
    """What people answered here. Imports, which have no version, may use an instrument's name for other values."""
    answered = Exists(Answer.objects.filter(response=OuterRef("pk")))
    asked = only.responses(study).filter(answered, instrument__in=scaled_instruments(), replicate=1)
    return asked.exclude(version="").exclude(rater__kind__in=NO_PEOPLE)


def scales(study: Study, only: Filter) -> Rows:
    questionnaires = scaled_instruments()
    found = Answer.objects.filter(response__in=people_on_scales(study, only)).order_by("response", "pk")
    given = found.values_list(
        "response",
        "response__rater__code",
        conversation_of("response__run__"),
        "response__instrument",
        "response__moment",
        turn_rated("response__"),
        "item",
        "value",
    )
    for (_response, person, conversation, instrument, moment, turn), items in groupby(given.iterator(), _without_item):
        for result in score(questionnaires[instrument], {item: value for *_of, item, value in items}):
            of = person, conversation, instrument, result.scale, moment
            yield *of, result.score, result.items_answered, turn


def _without_item(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row[:-2]


def count_scales(study: Study, only: Filter) -> int:
    scales_in = {id: len(score(questionnaire, {})) for id, questionnaire in scaled_instruments().items()}
    asked = people_on_scales(study, only).order_by().values_list("instrument").annotate(Count("pk"))
    return sum(scales_in[instrument] * count for instrument, count in asked)


# calls.csv

CALLS = (
    integer("call", "the attempt's number in the ledger"),
    text("purpose", "what a model was asked for", Call.Purpose.values),
    text("model", "as the study names it"),
    CONVERSATION,
    TURN,
    text("status", "ok, or what went wrong"),
    integer("attempts", "which attempt at the same reply this was, from 1"),
    integer("first_token_ms", "from the request to the first piece of text", "milliseconds"),
    integer("total_ms", "from the request to the end", "milliseconds"),
    integer("input_tokens", "as the model's server counts them", "tokens"),
    integer("output_tokens", "as the model's server counts them", "tokens"),
    number("cost", "empty where no price is known", "the price table's currency"),
    text("prices", "the version of the price table"),
    integer("replicate", "of answers that were asked for several times, which one"),
    integer("cached_tokens", "of the input, what the provider had from before", "tokens"),
    integer("reasoning_tokens", "of the output, what the model thought and did not say", "tokens"),
    text("prompt_version", "of the standing text of the prompt; empty for supporters, whose prompts the study has"),
    text("model_returned", "the model as its server names it"),
    text("judge", "the judge's key, where a judge was asked"),
    text("finish_reason", "why the answer ended, as the server says: stop, length …"),
)


def calls_of(study: Study, only: Filter) -> QuerySet[Call]:
    return Call.objects.filter(conversation__run__in=only.runs(study))


def calls(study: Study, only: Filter) -> Rows:
    found = calls_of(study, only).values_list(
        "pk",
        "purpose",
        "model",
        conversation_of("conversation__run__"),
        "turn",
        "status",
        "attempt",
        "first_token_ms",
        "total_ms",
        "input_tokens",
        "output_tokens",
        "cost",
        "prices",
        "replicate",
        "cached_tokens",
        "reasoning_tokens",
        "prompt_version",
        "model_returned",
        "item__job__plan__judge__key",
        "finish_reason",
    )
    yield from found.order_by("pk").iterator()


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
    Table("answers", "an answer to an item that is no rating", ANSWERS, answers, count_answers),
    Table("scales", "a scored (sub)scale", SCALES, scales, count_scales),
    Table(
        "states",
        "an inner state of a Thinker",
        STATES,
        states,
        lambda study, only: states_of(study, only).count(),
    ),
    Table("calls", "a model call", CALLS, calls, lambda study, only: calls_of(study, only).count()),
    Table("pairs", "a pairwise verdict", PAIRS, pairs, count_pairs),
    ROLE_PLAYS,
    Table("flags", "a flag that a counsellor put on a reply", FLAGS, flags, count_flags),
    *INTERVIEWS,
    *REVIEWS,
    DECISIONS,
    SEEKER_FAULTS,
)
