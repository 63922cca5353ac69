"""Judges and simulations: what they would cost, started with that estimate, watched, stopped."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.core import signing
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import ValidationError
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from studies.api.views.people import Pages
from studies.api.views.root import Conflict, RefusalSerializer, StudyView
from studies.board.work import JudgeForm
from studies.models import ApiToken, Study, Task
from studies.simulation.outcomes import CONDITIONS
from studies.simulation.pages import MOST_CALLS, RunForm
from studies.simulation.progress import stop_task
from studies.simulation.setup import MOST_REPLICATES, MOST_TURNS
from studies.workbench import tasks
from studies.workbench.asking_first import VALID, question
from studies.workbench.paid_work import Quote, quote

STOPPABLE = ("judge", "benchmark")


class JudgeWishSerializer(serializers.Serializer):
    judge = serializers.CharField(max_length=60, help_text="The judge's key in the study file.")
    strategies = serializers.ListField(
        child=serializers.CharField(max_length=60), min_length=1, max_length=20, help_text="What the judge is shown."
    )


class SimulationWishSerializer(serializers.Serializer):
    """A simulation: each arm talks with the same seekers in each condition, and judges rate the conversations."""

    arms = serializers.ListField(child=serializers.CharField(max_length=60), min_length=1, max_length=100)
    conditions = serializers.ListField(
        child=serializers.ChoiceField(CONDITIONS), min_length=1, max_length=len(CONDITIONS), default=list(CONDITIONS)
    )
    replicates = serializers.IntegerField(min_value=1, max_value=MOST_REPLICATES, default=1)
    max_turns = serializers.IntegerField(min_value=1, max_value=MOST_TURNS, default=15)
    review = serializers.BooleanField(default=False, help_text="The seekers' model looks for faults of the seekers.")
    judges = serializers.ListField(child=serializers.CharField(max_length=60), max_length=100, default=list)
    strategies = serializers.ListField(child=serializers.CharField(max_length=60), max_length=20, default=["standard"])
    concurrency = serializers.IntegerField(min_value=1, max_value=MOST_CALLS, default=8)
    budget = serializers.DecimalField(
        max_digits=12, decimal_places=6, min_value=0, allow_null=True, default=None, help_text="Of this task."
    )


class EstimateSerializer(serializers.Serializer):
    """What the work would take. Send `confirm` to `tasks/` to start just that."""

    conversations = serializers.IntegerField()
    judgements = serializers.IntegerField()
    calls = serializers.IntegerField()
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.DecimalField(
        max_digits=None, decimal_places=6, allow_null=True, help_text="null: the price table lacks a model."
    )
    currency = serializers.CharField()
    unpriced = serializers.ListField(child=serializers.CharField(), help_text="Models without a price.")
    unset_variables = serializers.ListField(child=serializers.CharField(), help_text="Keys that the server lacks.")
    refusals = serializers.ListField(child=serializers.CharField(), help_text="Why it could not start.")
    exceeds_budget = serializers.BooleanField()
    confirm = serializers.CharField(allow_null=True, help_text="null: it cannot start. Valid for a day.")


class ConfirmSerializer(serializers.Serializer):
    confirm = serializers.CharField(max_length=10_000, help_text="Of an estimate.")


class TaskSerializer(serializers.ModelSerializer):
    state = serializers.SerializerMethodField(help_text="A task whose process has died has failed.")
    arguments = serializers.ListField(child=serializers.CharField())
    outcome = serializers.DictField(help_text="Counts and cost, once there are some.")
    started_by = serializers.CharField(source="started_by.username", allow_null=True, default=None)
    number = serializers.IntegerField(source="pk")

    class Meta:
        model = Task
        fields = [
            *("number", "command", "arguments", "state", "done", "total", "message", "outcome"),
            *("started_by", "started_at", "ended_at", "stop_asked_by"),
        ]

    @extend_schema_field(serializers.ChoiceField(Task.State.choices))
    def get_state(self, task: Task) -> str:
        return Task.State.FAILED if task.is_stale() else task.state


class EstimateView(StudyView):
    scopes: ClassVar = {"POST": ApiToken.Scope.RUN}

    def answer(self, study: Study, command: str, form: forms.Form) -> Response:
        if not form.is_valid():
            raise ValidationError(form.errors.get_json_data())
        arguments = form.arguments()  # type: ignore[attr-defined]
        return Response(EstimateSerializer(estimate_of(study, command, arguments)).data)


class JudgeEstimate(EstimateView):
    @extend_schema(request=JudgeWishSerializer, responses=EstimateSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Estimate what a judge would take for all conversations that it has not rated. No model is asked."""
        study = self.get_study()
        return self.answer(study, "judge", JudgeForm(study, read(JudgeWishSerializer, request)))


class SimulationEstimate(EstimateView):
    @extend_schema(request=SimulationWishSerializer, responses={200: EstimateSerializer, 409: RefusalSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Estimate what a simulation would take. No model is asked."""
        study = self.get_study()
        wish = read(SimulationWishSerializer, request)
        if study.current().spec().seeker is None:
            raise Conflict("The study file names no model that plays seekers: [seeker].")
        return self.answer(study, "benchmark", RunForm(study, wish))


def read(serializer: type[serializers.Serializer], request: Request) -> Mapping[str, Any]:
    instance = serializer(data=request.data)
    instance.is_valid(raise_exception=True)
    return instance.validated_data


def estimate_of(study: Study, command: str, arguments: Sequence[str]) -> dict[str, Any]:
    estimate: Quote = quote(study, command, arguments)
    context = question(estimate, arguments)
    confirm = signing.dumps([command, list(arguments)], salt=salt_of(study)) if context["may_start"] else None
    return {
        **{name: estimate.items[name] for name in ("conversations", "judgements")},
        **{name: getattr(estimate, name) for name in ("calls", "input_tokens", "output_tokens", "cost", "currency")},
        "unpriced": estimate.unpriced,
        "unset_variables": estimate.unset_keys,
        "refusals": estimate.refusals,
        "exceeds_budget": context["too_dear"],
        "confirm": confirm,
    }


def salt_of(study: Study) -> str:
    return f"work over the API for study {study.pk}"


class Tasks(StudyView, ListAPIView):
    scopes: ClassVar = {"POST": ApiToken.Scope.RUN}
    serializer_class = TaskSerializer
    pagination_class = Pages
    queryset = Task.objects.none()  # tells the schema what it lists

    def get_queryset(self) -> Any:
        return self.get_study().tasks.select_related("started_by")

    @extend_schema(request=ConfirmSerializer, responses={201: TaskSerializer, 409: RefusalSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Start the work of an estimate."""
        study = self.get_study()
        try:
            confirm = read(ConfirmSerializer, request)["confirm"]
            command, arguments = signing.loads(confirm, salt=salt_of(study), max_age=VALID)
        except signing.BadSignature as error:
            raise ValidationError({"confirm": ["Not of an estimate for this study, or older than a day."]}) from error
        return start_task(request, study, command, arguments)


def start_task(request: Request, study: Study, command: str, arguments: list[str]) -> Response:
    """Start a task in the name of the account. Raise Conflict where another of its kind is running."""
    if running := tasks.running_task(study, command):
        raise Conflict(f"Task {running.pk} of this kind is running. Nothing was started.")
    task, _is_new = tasks.start(study, command, arguments, request.user)
    return Response(TaskSerializer(task).data, status=status.HTTP_201_CREATED)


class OneTask(StudyView):
    @extend_schema(responses=TaskSerializer)
    def get(self, request: Request, key: str, number: int) -> Response:
        """Return how far a task is: `done` of `total`, and what came of it."""
        return Response(TaskSerializer(get_object_or_404(self.get_study().tasks, pk=number)).data)


class Stop(StudyView):
    scopes: ClassVar = {"POST": ApiToken.Scope.RUN}

    @extend_schema(request=None, responses={202: TaskSerializer, 409: RefusalSerializer})
    def post(self, request: Request, key: str, number: int) -> Response:
        """Stop a judge or a simulation: it begins nothing more, and what is under way is finished and kept."""
        task = get_object_or_404(self.get_study().tasks, pk=number)
        if task.command not in STOPPABLE:
            raise Conflict(f"Only these can be stopped: {', '.join(STOPPABLE)}.")
        if task.state != Task.State.RUNNING or task.is_stale():
            raise Conflict("The task is over.")
        stop_task(task, request.user)
        return Response(TaskSerializer(task).data, status=status.HTTP_202_ACCEPTED)
