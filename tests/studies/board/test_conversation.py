"""One conversation: thoughts beside words, the emotion line, all scores side by side, two judges compared."""

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from dialogue.models import Call, InnerState, SeekerFault
from studies.models import Answer, Rater, Response
from studies.workbench.rating_tables import Cell
from tests import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(study):
    return factories.run_with_turns(study, factories.person(study))


def address(run):
    return reverse("research-conversation", args=["demo", run.conversation.code])


def think(run, turn, score, source="demo", **words):
    words = {"cognition": "It listened.", "emotion": "Lighter.", "goal": "Clearer.", **words}
    return InnerState.objects.create(
        conversation=run.conversation, turn=turn, source=source, emotion_score=score, **words
    )


def unread(rater, run, instrument="emoharbor_10", moment="final", turn=0, **reasons):
    """A rating of which these items have no score; returns it."""
    place = {"instrument": instrument, "moment": moment, "turn": turn, "is_rating": True}
    response = Response.objects.create(rater=rater, run=run, **place)
    for item, reason in reasons.items():
        Answer.objects.create(response=response, item=item, missing_reason=reason)
    return response


# What was said


def test_words_and_masked_replies_are_shown_once_and_escaped(desk, run):
    hidden = {"reply": "I am your partner.", "reply_original": "I am Bot 5.", "masked": True, "names_itself": True}
    factories.add_turn(run.conversation, 3, text="Who are <b>you</b>?", emotion="angry", **hidden)

    page = desk.get(address(run)).content.decode()

    [flagged] = [turn for turn in page.split('id="turn-')[1:] if "names itself" in turn]
    for text in ("Who are &lt;b&gt;you&lt;/b&gt;?", "I am your partner.", "I am Bot 5.", "emotion as imported: angry"):
        assert flagged.count(text) == page.count(text) == 1


def test_flags_stand_beside_their_reply(desk, run):
    factories.flag(run, 2, "harsh", withdrawn_at=timezone.now())
    stands = factories.flag(run, 2, "good", note="Here it turned.")

    response = desk.get(address(run))

    flagged = {row.number: [(flag.pk, words) for flag, words in row.flags] for row in response.context["turns"]}
    assert flagged == {1: [], 2: [(stands.pk - 1, "Harsh or blaming"), (stands.pk, "A good reply, worth noting")]}
    page = response.content.decode()
    assert page.count("said__flag--withdrawn") == 1
    assert "Here it turned." in page


def test_thoughts_stand_beside_their_turn_by_whose_they_are(desk, run):
    think(run, 1, 40)
    think(run, 1, 30, source="seeker", cognition="It <i>echoes</i>.")
    think(run, 0, None, source="seeker")

    response = desk.get(address(run))

    told = {row.number: [thought.thinker for thought in row.thoughts] for row in response.context["turns"]}
    assert told == {0: ["the simulated seeker itself"], 1: ["judge demo", "the simulated seeker itself"], 2: []}
    page = response.content.decode()
    assert "It &lt;i&gt;echoes&lt;/i&gt;." in page.split('id="turn-1"')[1].split('id="turn-2"')[0]
    assert page.count("no emotion score") == 1
    assert "No message belongs to this turn." in page.split('id="turn-0"')[1].split('id="turn-1"')[0]


def test_faults_of_a_simulated_seeker_stand_beside_their_turn(desk, study):
    run = factories.run_with_turns(study)
    for turn, kind, source in ((2, "role_flip", "rule"), (2, "new_kind", "reviewer")):
        SeekerFault.objects.create(
            conversation=run.conversation, turn=turn, kind=kind, source=source, evidence="How can I help?"
        )

    response = desk.get(address(run))

    assert {row.number: row.faults for row in response.context["turns"]} == {
        1: [],
        2: [
            ("new_kind", "by a reviewing model", "How can I help?"),
            ("spoke as the supporter", "by rule", "How can I help?"),
        ],
    }
    assert response.content.decode().count("Fault of the simulated seeker") == 2


def test_a_conversation_without_thoughts_says_so(desk, run):
    page = desk.get(address(run))

    assert page.context["emotions"] == []
    assert "No thoughts are stored." in page.content.decode()


def test_emotion_is_a_line_and_a_table_and_a_missing_score_stays_missing(desk, run):
    for turn, score in {1: 40, 2: None, 3: 60}.items():
        think(run, turn, score)
    think(run, 2, 12.5, source="seeker")

    response = desk.get(address(run))

    [emotion] = response.context["emotions"]
    assert list(emotion.sources) == ["judge demo", "the simulated seeker itself"]
    assert emotion.rows == [(1, ["40", ""]), (2, ["", "12.5"]), (3, ["60", ""])]
    assert [len(line.parts) for line in emotion.chart.lines] == [2, 1]
    assert response.content.decode().count("no score</span>") == 3


def import_one(study, *emotions, **last):
    run = factories.run_with_turns(study, turns=[], external_id=f"x{study.runs.count()}")
    run.conversation.seeker_kind = "imported"
    run.conversation.save()
    for turn, emotion in enumerate(emotions, 1):
        factories.add_turn(run.conversation, turn, text="So", reply="Yes", emotion=emotion, **last)
    return run


def test_emotions_of_an_import_have_a_chart_of_their_own_on_the_studys_scale(desk, study):
    run = import_one(study, "3", "sad", "2.5", "")
    import_one(study, "1", "5")
    think(run, 1, 40)

    response = desk.get(address(run))

    supposed, imported = response.context["emotions"]
    assert (list(supposed.sources), supposed.rows) == (["judge demo"], [(1, ["40"])])
    assert (list(imported.sources), imported.rows) == (["as imported"], [(1, ["3"]), (3, ["2.5"])])
    assert [level for _y, level in imported.chart.levels] == [1, 3, 5]
    [line] = imported.chart.lines
    assert (len(line.parts), line.first, line.last) == (2, (1, 3), (3, 2.5))
    page = response.content.decode()
    assert [page.count(f'id="emotion-{key}"') for key in ("supposed", "imported")] == [1, 1]
    assert "2.5 at turn 3" in page


@pytest.mark.parametrize("emotion", ["", "sad", "nan", "inf"])
def test_an_import_without_a_number_has_no_chart(emotion, desk, study):
    assert desk.get(address(import_one(study, emotion))).context["emotions"] == []


def test_last_words_of_an_import_are_no_failure(desk, study):
    page = desk.get(address(import_one(study, "80", state="held", attempts=0))).content.decode()

    assert "The file has no reply to this message." in page
    assert "for safety" not in page


@pytest.mark.parametrize(("turn", "numbers"), [("2", [2]), ("9", []), ("x", []), ("-1", []), ("", [])])
def test_the_address_names_a_turn(turn, numbers, desk, run):
    response = desk.get(address(run), {"turn": turn})

    assert [row.number for row in response.context["turns"] if row.is_target] == numbers
    assert response.content.decode().count('aria-current="true"') == len(numbers)


def test_a_turn_has_a_link_to_itself_and_to_its_calls(desk, run):
    Call.objects.create(purpose="reply", conversation=run.conversation, turn=2)

    page = desk.get(address(run)).content.decode()

    assert 'href="#turn-1"' in page
    assert f'href="{address(run)}calls/?turn=2"' in page
    assert f'href="{address(run)}calls/?turn=1"' not in page


# Ratings


def cells(table, item, turn=0):
    [group] = [group for group in table.groups if group.turn == turn]
    [row] = [row for row in group.rows if row.item == item]
    return row


def test_raters_stand_side_by_side_people_first(desk, study, run):
    judge = factories.judge(study)
    unread(judge, run, empathetic="unparseable", safety="out_of_range", engagement="odd_one")
    factories.rating(run.participation, run, 4, comment="Kind.")
    Answer.objects.filter(item="empathetic", value=4).update(reason="It listened.")

    response = desk.get(address(run))

    [table] = response.context["tables"]
    assert [(column.kind(), column.rater.code) for column in (*table.people, *table.others)] == [
        ("participant", run.participation.code),
        ("judge", "demo"),
    ]
    empathetic = cells(table, "empathetic")
    assert (empathetic.label, empathetic.people) == ("Empathy", [Cell("4", reason="It listened.")])
    missing = [cells(table, item).others[0].missing for item in ("empathetic", "safety", "engagement")]
    assert missing == ["the answer could not be read", "outside the scale", "odd_one"]
    assert cells(table, "consistency").others == [Cell()]
    assert cells(table, "comment").people == [Cell(words="Kind.")]
    assert [row.item for row in table.groups[0].rows][-1] == "comment"
    page = response.content.decode()
    for words in ("the answer could not be read", "not asked", "no item in common", "It listened."):
        assert words in page


def test_a_judge_is_told_apart_from_the_mean_of_people(desk, study, run):
    crowd = Rater.objects.create(study=study, kind="crowd", code="W1")
    factories.rating(run.participation, run, 4, safety=2)
    factories.rating(crowd, run, 5, safety=3)
    factories.rating(factories.judge(study), run, 3, safety=4)

    response = desk.get(address(run))

    [table] = response.context["tables"]
    row = cells(table, "safety")
    assert ([cell.text for cell in row.people], row.mean) == (["2", "3"], "2.5")
    [apart] = [cell.apart for cell in row.others]
    assert (apart.points, apart.words(), apart.direction(), apart.far) == (1.5, "+1.5", "up", True)
    other = cells(table, "engagement").others[0].apart
    assert (other.words(), other.direction(), other.far) == ("−1.5", "down", True)
    [mean] = table.groups[0].means
    assert (mean.own, mean.people, mean.items) == ("3.1", "4.3", 10)
    assert (mean.apart.words(), mean.apart.far) == ("−1.2", False)
    assert [cell.apart for cell in row.people] == [None, None]
    assert "+1.5 far" in response.content.decode()


def test_far_is_what_the_address_calls_far(desk, study, run):
    factories.rating(run.participation, run, 4)
    factories.rating(factories.judge(study), run, 3)

    def far(query):
        [table] = desk.get(address(run), query).context["tables"]
        return cells(table, "safety").others[0].apart.far

    assert [far({"far": text}) for text in ("", "1", "1.1", "x", "0")] == [False, True, False, False, True]


def test_without_people_nothing_is_apart(desk, study, run):
    factories.rating(factories.judge(study), run, 3)

    [table] = desk.get(address(run)).context["tables"]

    assert cells(table, "safety").others == [Cell("3")]
    assert table.groups[0].means == [None]


def test_moments_of_one_questionnaire_share_a_table(desk, study, run):
    judge = factories.judge(study)
    for turn, score in ((5, 2), (10, 4)):
        given = {"empathetic": score}
        factories.answer(run.participation, "turn_checkpoint", given, run=run, moment="checkpoint", turn=turn)
        factories.answer(judge, "turn_checkpoint", {"empathetic": 4}, run=run, moment="checkpoint", turn=turn)
    factories.answer(run.participation, "turn_checkpoint", {"empathetic": 1}, run=run, moment="checkpoint", turn=15)
    factories.rating(judge, run, 3)

    final, checkpoint = desk.get(address(run)).context["tables"]

    assert (final.instrument, [group.turn for group in final.groups]) == ("emoharbor_10", [0])
    assert (checkpoint.instrument, [group.turn for group in checkpoint.groups]) == ("turn_checkpoint", [5, 10, 15])
    assert cells(checkpoint, "empathetic", 15).others == [Cell(missing="not rated")]
    assert [cells(checkpoint, "empathetic", turn).others[0].apart.points for turn in (5, 10)] == [2, 0]


def test_an_imported_instrument_is_shown_by_its_keys(desk, study, run):
    judge = factories.judge(study)
    response = Response.objects.create(rater=judge, run=run, instrument="../odd", moment="final", is_rating=True)
    Answer.objects.create(response=response, item="warmth", value=2.5)

    [table] = desk.get(address(run)).context["tables"]

    assert (table.title, cells(table, "warmth").label, cells(table, "warmth").others) == (
        "../odd",
        "warmth",
        [Cell("2.5")],
    )


def test_judges_that_have_not_rated_here_are_named(desk, study, run):
    factories.rating(factories.judge(study), run, 3)
    absent = factories.judge(study, strategy="user_aware")
    factories.rating(absent, factories.run_with_turns(study), 3)

    page = desk.get(address(run))

    assert page.context["silent"] == ["demo user_aware"]


# Two judges


@pytest.fixture
def strategies(study, run):
    """standard: 3 for all; user_aware: 4 and 2 in two replicates, `safety` unread in both, `engagement` 5."""
    standard, aware = factories.judge(study), factories.judge(study, strategy="user_aware")
    factories.rating(standard, run, 3)
    factories.rating(run.participation, run, 4)
    for replicate, score in ((1, 4), (2, 3)):
        scores = dict.fromkeys(("empathetic", "safety"), score) | {"engagement": 5}
        factories.answer(aware, "emoharbor_10", scores, run=run, moment="final", replicate=replicate)
    Answer.objects.filter(response__rater=aware, item="safety").update(value=None, missing_reason="unparseable")


def test_two_strategies_are_compared_item_by_item(desk, run, strategies):
    response = desk.get(address(run), {"a": "demo standard", "b": "demo user_aware", "far": "1"})

    comparison = response.context["comparison"]
    [table] = comparison.tables
    rows = {row.item: row for row in table.rows}
    assert (rows["empathetic"].a.text, rows["empathetic"].b.text) == ("3", "3.5")
    assert (rows["empathetic"].difference.words(), rows["empathetic"].difference.far) == ("+0.5", False)
    assert (rows["engagement"].difference.words(), rows["engagement"].difference.far) == ("+2", True)
    assert (rows["safety"].b.missing, rows["safety"].difference) == ("the answer could not be read", None)
    assert (rows["consistency"].b.missing, rows["consistency"].people) == ("not asked", "4")
    assert table.mean.points == 1.25
    page = response.content.decode()
    assert page.count("a score is missing") == 8
    assert '<input type="hidden" name="far"' not in page  # without a judge to filter by it filters nothing


@pytest.mark.parametrize(
    ("a", "b", "fault"),
    [
        ("demo standard", "", ""),
        ("demo standard", "demo standard", "Choose two different raters."),
        ("demo standard", "demo state_aware", "No rating here by: demo state_aware."),
    ],
)
def test_a_comparison_that_cannot_be_made_says_why(a, b, fault, desk, run, strategies):
    comparison = desk.get(address(run), {"a": a, "b": b}).context["comparison"]

    assert (comparison.tables, comparison.fault) == ([], fault)


def test_judges_of_different_moments_cannot_be_compared(desk, study, run):
    factories.rating(factories.judge(study), run, 3)
    aware = factories.judge(study, strategy="user_aware")
    factories.answer(aware, "turn_checkpoint", {"empathetic": 4}, run=run, moment="checkpoint", turn=5)

    comparison = desk.get(address(run), {"a": "demo standard", "b": "demo user_aware"}).context["comparison"]

    assert comparison.fault == "These two have not answered any questionnaire at the same moment."


def test_the_comparison_keeps_the_filters_of_the_list(desk, study, run, strategies):
    page = desk.get(address(run), {"judge": "any", "far": "0.5", "arm": "amber"}).content.decode()

    form = page.split('action="#comparison"')[1].split("</form>")[0]
    for name, value in {"judge": "any", "far": "0.5", "arm": "amber"}.items():
        assert f'<input type="hidden" name="{name}" value="{value}">' in form


# All of it


def test_a_conversation_of_another_study_is_not_found(desk, study):
    run = factories.run_with_turns(factories.study("another"))

    assert desk.get(address(run)).status_code == 404
    assert desk.get(reverse("research-conversation", args=["demo", "nowhere"])).status_code == 404


def test_an_imported_conversation_without_anything_is_shown(desk, study):
    run = factories.run_with_turns(study, turns=[], external_id="x1", condition="worst_case", profile="p1")

    page = desk.get(address(run)).content.decode()

    for words in ("Nothing yet.", "None yet.", "No model was called here.", "worst case", "x1"):
        assert words in page


@pytest.mark.parametrize("many", [1, 6])
def test_a_conversation_asks_the_database_as_often_however_much_there_is(
    many, desk, study, run, django_assert_max_num_queries
):
    for number in range(1, many + 1):
        think(run, number, 50)
        judge = factories.judge(study, f"judge{number}")
        factories.rating(judge, run, 3)
        Call.objects.create(purpose="judge", conversation=run.conversation, turn=number)
        factories.flag(run, number)

    with django_assert_max_num_queries(34):  # 10 of them for the audit log
        desk.get(address(run))


def test_the_page_speaks_chinese(desk, run):
    factories.rating(run.participation, run, 4)

    with translation.override("zh-hans"):
        page = desk.get(address(run), headers={"accept-language": "zh-hans"})

    [table] = page.context["tables"]
    assert cells(table, "problem_resolution").label == "问题解决"
