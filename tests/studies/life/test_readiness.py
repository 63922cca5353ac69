"""What has to be there before a study is opened to real people."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dialogue.models import Call
from studies.design.payment_spec import PaymentSpec
from studies.design.retention_spec import RetentionSpec
from studies.design.safety_rules import OnCall, SafetyRules
from studies.life import readiness, stages
from studies.models import Amendment, Stage, Study
from studies.setup.storage import AmendmentReason, NamesModels, load_spec
from tests import factories

pytestmark = pytest.mark.django_db
ADA = stages.Actor("ada")
REAL = {"contact": "ethics@lab.university", "oncall_email": "oncall@lab.university"}


def served(spec):
    """The design with models behind an address in the place of scripts."""
    arms = tuple(
        replace(arm, kind="openai_compatible", base_url="http://127.0.0.1:1/v1", model="m", provider="Lab")
        for arm in spec.arms
    )
    return real(replace(spec, arms=arms, consent=replace(spec.consent, providers=("Lab",))))


def real(spec, key="hearts"):
    """The design with addresses that someone reads."""
    mail = dict.fromkeys(spec.languages, "ethics@lab.university")
    told = {name: dict.fromkeys(spec.languages, "someone") for name in ("oncall_role", "oncall_hours")}
    values = {**spec.consent.values, "contact_email": mail, **told}
    return replace(spec, key=key, consent=replace(spec.consent, values=values), **REAL)


@pytest.fixture
def hearts():
    """A study of models, as it is when it has just been loaded."""
    return load_spec(served(factories.demo_spec())).protocol.study


def codes(study):
    return [each.code for each in readiness.find_missing(study)]


def answered(study, arm, status="ok", **fields):
    noted = {"study": study.key, "checked": f"arm {arm}"}
    call = Call.objects.create(purpose=Call.Purpose.CHECK, kind="openai_compatible", parameters=noted, status=status)
    Call.objects.filter(pk=call.pk).update(**fields)


def make_ready(study):
    readiness.confirm_resources(study, "ada")
    factories.acknowledged_drill(study)
    for arm in study.current().arms.all():
        answered(study, arm.key)
    for track in ("participant", "counsellor"):
        factories.person(study, is_test=True, status="completed", track=track)


def test_a_study_begins_in_rehearsal_and_says_all_that_is_missing(hearts):
    assert hearts.stage == Stage.REHEARSAL
    assert codes(hearts) == ["resources", "drill", "arms", "rehearsal-participant", "rehearsal-counsellor"]


def test_nothing_is_missing_once_all_is_there_and_what_people_meet_is_fixed(hearts):
    make_ready(hearts)
    assert codes(hearts) == []
    assert stages.move(hearts, Stage.OPEN, ADA)
    protocol = hearts.current()
    assert protocol.opened_hash == protocol.hash()
    assert not protocol.may_change()


def test_opening_too_early_changes_nothing(hearts):
    with pytest.raises(stages.NotReady) as refused:
        stages.move(hearts, Stage.OPEN, ADA)
    assert [each.code for each in refused.value.missing] == codes(hearts)
    hearts.refresh_from_db()
    assert (hearts.stage, hearts.current().opened_at) == (Stage.REHEARSAL, None)
    assert not hearts.stage_changes.exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"contact": "someone@example.org"}, "contact"),
        ({"value": ("contact_email", "someone@example.com")}, "contact"),
        ({"value": ("withdrawal_deadline", "")}, "consent"),
        ({"value": ("retention_end", "  ")}, "consent"),
    ],
)
def test_what_people_need_to_know_has_to_be_filled_in(change, code, hearts):
    make_ready(hearts)
    spec = hearts.current().spec()
    if "value" in change:
        name, text = change["value"]
        values = {**spec.consent.values, name: dict.fromkeys(spec.languages, text)}
        spec = replace(spec, consent=replace(spec.consent, values=values))
    else:
        spec = replace(spec, **change)
    load_spec(spec)
    assert code in codes(Study.objects.get(key="hearts"))


def test_alarms_must_leave_the_server(hearts, settings):
    make_ready(hearts)
    assert codes(hearts) == []
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert codes(hearts) == ["reach"]
    hook = OnCall(name="Ada", webhook="https://duty.example.org/hook")
    load_spec(replace(hearts.current().spec(), safety=SafetyRules(oncall=(hook,))))
    assert "reach" not in codes(hearts)


def test_advice_is_right_on_the_page_and_in_the_command(hearts):
    advice = {each.code: each.advice for each in readiness.list_requirements(hearts)}
    assert "confirm it under Lifecycle → Help lines" in advice["resources"]
    assert advice["rehearsal-participant"].startswith("Use Lifecycle → Rehearse with bots, or run")


def test_a_check_of_the_lines_of_help_holds_ninety_days(hearts):
    make_ready(hearts)
    hearts.resource_checks.update(at=timezone.now() - timedelta(days=91))
    assert codes(hearts) == ["resources"]
    hearts.resource_checks.update(at=timezone.now(), country="FR")
    assert codes(hearts) == ["resources"]


def test_an_arm_has_to_have_answered_last_and_these_days(hearts):
    make_ready(hearts)
    answered(hearts, "amber", status="error")
    missing = readiness.find_missing(hearts)
    assert [each.code for each in missing] == ["arms"]
    assert missing[0].advice.endswith("Not seen to answer: amber")
    answered(hearts, "amber", status="truncated")
    assert codes(hearts) == []
    Call.objects.update(created_at=timezone.now() - timedelta(days=8))
    assert codes(hearts) == ["arms"]


def test_a_rehearsal_of_an_earlier_version_does_not_count(hearts):
    make_ready(hearts)
    load_spec(replace(hearts.current().spec(), gone_after_days=9))
    assert {"rehearsal-participant", "rehearsal-counsellor"} <= set(codes(hearts))


def test_scripts_need_nobody_on_call_no_answers_and_no_rehearsal():
    study = load_spec(real(factories.demo_spec(), key="scripts")).protocol.study
    assert codes(study) == ["resources"]


def test_the_demonstration_is_open_at_once():
    study = load_spec(factories.demo_spec()).protocol.study
    assert (study.stage, codes(study)) == (Stage.OPEN, [])


# The commands


def test_bots_say_first_what_they_would_ask(hearts, capsys):
    call_command("run_bots", "hearts", "--count", "2", "--estimate", "--json")
    told = json.loads(capsys.readouterr().out.splitlines()[-1])["estimate"]
    arms = len(hearts.current().spec().arms)
    turns = hearts.current().spec().chat.min_turns
    assert (told["conversations"], told["calls"]) == (2 * arms, 2 * arms * turns)
    assert told["output_tokens"] == 2 * arms * turns * 120
    assert (told["cost"], told["unpriced"]) == (None, ["m"])
    assert not hearts.participations.exists()


def run(command, *arguments, capsys):
    call_command(command, *arguments)
    return capsys.readouterr().out


def test_the_command_lists_what_is_missing_and_what_to_do(hearts):
    with pytest.raises(CommandError) as refused:
        call_command("open_study", "hearts")
    told = str(refused.value)
    assert refused.value.returncode == 2
    assert "hearts cannot be opened yet. Missing:" in told
    assert "Send a drill from the safety desk." in told
    assert "run manage.py run_bots hearts --count 2 --track counsellor." in told


def test_a_study_is_opened_paused_and_closed_by_commands(hearts, capsys):
    make_ready(hearts)
    hearts.resource_checks.all().delete()
    assert "hearts is open" in run(
        "open_study", "hearts", "--resources-checked-by", "Ann", "--by", "Ann", capsys=capsys
    )
    assert "hearts is paused." in run("pause_study", "hearts", "--reason", "The provider is away", capsys=capsys)
    assert "already" in run("pause_study", "hearts", capsys=capsys)
    assert "hearts is open" in run("open_study", "hearts", capsys=capsys)
    assert "hearts is closed" in run("close_study", "hearts", capsys=capsys)
    changes = [(change.stage, change.reason) for change in hearts.stage_changes.all()]
    assert changes == [("open", ""), ("paused", "The provider is away"), ("open", ""), ("closed", "")]
    assert hearts.stage_changes.first().by_name == "Ann"
    assert hearts.resource_checks.get().by_name == "Ann"


def test_a_check_of_the_lines_is_said_to_be_recorded_only_where_it_is(hearts, capsys):
    make_ready(hearts)
    hearts.resource_checks.all().delete()
    hearts.participations.all().delete()  # whose rehearsals are missing then
    with pytest.raises(CommandError, match="cannot be opened yet"):
        run("open_study", "hearts", "--resources-checked-by", "Ann", capsys=capsys)
    assert "recorded" not in capsys.readouterr().out
    assert not hearts.resource_checks.exists()


def test_a_study_in_rehearsal_can_be_neither_paused_nor_closed(hearts):
    for command in ("pause_study", "close_study"):
        with pytest.raises(CommandError, match="hearts is in the stage rehearsal"):
            call_command(command, "hearts")


def test_links_for_real_people_come_after_the_opening(hearts):
    with pytest.raises(CommandError, match="hearts: it is in rehearsal") as refused:
        call_command("invite", "hearts", "--count", "1")
    assert refused.value.returncode == 2
    call_command("invite", "hearts", "--count", "1", "--test")


def test_another_design_of_an_opened_study_needs_a_reason(hearts, tmp_path, capsys):
    from studies.design.writing import dump_study

    make_ready(hearts)
    stages.move(hearts, Stage.OPEN, ADA)
    spec = hearts.current().spec()
    path = tmp_path / "study.toml"
    path.write_text(dump_study(replace(spec, gone_after_days=9)), encoding="utf-8")
    with pytest.raises(CommandError, match="hearts has been opened"):
        call_command("load_study", str(path))
    assert hearts.protocols.count() == 1
    call_command("load_study", str(path), "--amend", "People need more days.", "--by", "Ann", "--ask-consent-again")
    kept = Amendment.objects.get()
    assert (kept.number, kept.protocol.version, kept.by_name) == (1, 2, "Ann")
    assert (kept.reason, kept.asks_again) == ("People need more days.", True)
    assert kept.protocol.opened_hash == kept.protocol.hash() != hearts.protocols.first().hash()


@pytest.mark.parametrize("name", ["amber", "GPT", "Anthropic", "Lab"])
def test_what_people_read_of_an_amendment_names_no_model(name, hearts):
    make_ready(hearts)
    stages.move(hearts, Stage.OPEN, ADA)
    spec = replace(hearts.current().spec(), gone_after_days=9)
    told = AmendmentReason(f"We no longer use {name}.", by_name="ada", asks_again=True)
    with pytest.raises(NamesModels):
        load_spec(spec, amendment=told)
    assert hearts.protocols.count() == 1
    assert load_spec(spec, amendment=replace(told, asks_again=False)).outcome == "amended"  # no one else reads it


def test_a_paused_arm_is_no_other_design(hearts):
    make_ready(hearts)
    stages.move(hearts, Stage.OPEN, ADA)
    hearts.current().arms.filter(key="amber").update(paused=True)
    assert load_spec(hearts.current().full_spec()).outcome == "unchanged"


def test_study_whose_data_would_go_at_once_cannot_be_opened(hearts):
    hearts = load_spec(
        replace(hearts.current().spec(), retention=RetentionSpec(keep_until="2020-12-31"))
    ).protocol.study
    missing = {each.code: each for each in readiness.find_missing(hearts)}
    assert "keep_until (2020-12-31)" in missing["retention"].advice
    load_spec(replace(hearts.current().spec(), retention=RetentionSpec(keep_until="2999-12-31")))
    assert "retention" not in codes(hearts)


def test_a_consent_form_that_denies_who_is_on_call_and_pay_keeps_the_study_closed():
    spec = served(factories.demo_spec())
    nothing = {"oncall_role": {}, "pay_rate": {}}
    paid = replace(spec, payment=PaymentSpec(currency="EUR", amount=8.0))
    silent = replace(paid, consent=replace(spec.consent, values={**spec.consent.values, **nothing}))
    study = load_spec(silent).protocol.study
    assert {"consent-oncall", "consent-pay"} <= set(codes(study))

    told = {name: dict.fromkeys(spec.languages, "words") for name in nothing}
    load_spec(replace(paid, consent=replace(spec.consent, values={**spec.consent.values, **told})))
    assert not {"consent-oncall", "consent-pay"} & set(codes(study))
