"""People: personal links, their list by code, and counts of how far they are."""

from typing import Any

from django.db import transaction
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.generics import ListAPIView
from rest_framework.pagination import PageNumberPagination
from rest_framework.request import Request
from rest_framework.response import Response

from studies.api.views.root import Conflict, RefusalSerializer, StudyView
from studies.care.opening_requirements import get_advice, lacks_drill
from studies.models import Participation, Study
from studies.models.participation import Status
from studies.participation import counts
from studies.participation.enrolment import admits_new_people, invite
from studies.participation.timeouts import time_out_absent

MOST_LINKS = 500
TEST = OpenApiParameter("test", str, enum=["yes", "no"], description="Test data alone, or real people alone.")


class WishSerializer(serializers.Serializer):
    count = serializers.IntegerField(min_value=1, max_value=MOST_LINKS, default=1)
    track = serializers.ChoiceField(Participation.Track.choices, default=Participation.Track.PARTICIPANT)
    test = serializers.BooleanField(default=False, help_text="Test links: what is done with them is test data.")


class LinkSerializer(serializers.Serializer):
    code = serializers.CharField()
    track = serializers.ChoiceField(Participation.Track.choices)
    url = serializers.URLField(help_text="Shown this once: the server keeps a hash of it alone.")


class Invites(StudyView):
    @extend_schema(request=WishSerializer, responses={201: LinkSerializer(many=True), 409: RefusalSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Make personal links. They are in this answer alone."""
        study = self.get_study()
        wish = WishSerializer(data=request.data)
        wish.is_valid(raise_exception=True)
        links = make_links(request, study, **wish.validated_data)
        return Response(links, status=status.HTTP_201_CREATED)


def make_links(request: Request, study: Study, *, count: int, track: str, test: bool) -> list[dict[str, str]]:
    """Return new links. Raise Conflict where no one could start with one."""
    if not admits_new_people(study, is_test=test):
        raise Conflict(f"The study {study.key} is closed: no one could start with a new link.")
    if not test and track != Participation.Track.REVIEWER and lacks_drill(study):
        raise Conflict(get_advice(study))
    with transaction.atomic():
        pairs = [invite(study, track=track, is_test=test) for _ in range(count)]
    return [
        {"code": person.code, "track": track, "url": request.build_absolute_uri(reverse("join", args=[token]))}
        for person, token in pairs
    ]


class PersonSerializer(serializers.ModelSerializer):
    """A person by their code. Nothing that they wrote is here, and no arm."""

    test = serializers.BooleanField(source="is_test")
    steps_done = serializers.IntegerField(source="position")
    steps = serializers.SerializerMethodField()

    class Meta:
        model = Participation
        fields = [
            *("code", "track", "language", "status", "test", "steps_done", "steps"),
            *("created_at", "started_at", "last_seen_at", "ended_at"),
        ]

    def get_steps(self, person: Participation) -> int:
        return len(person.plan)


class Pages(PageNumberPagination):
    page_size = 100
    max_page_size = 1000
    page_size_query_param = "page_size"


class People(StudyView, ListAPIView):
    serializer_class = PersonSerializer
    pagination_class = Pages
    queryset = Participation.objects.none()  # tells the schema what it lists

    def get_queryset(self) -> Any:
        study, query = self.get_study(), self.request.query_params
        time_out_absent(study)
        rows = counts.filter_by_test(study.participations.all(), query.get("test", ""))
        statuses = {"status": query["status"]} if query.get("status") in Status.values else {}
        return rows.filter(**statuses).order_by("pk")

    @extend_schema(parameters=[TEST, OpenApiParameter("status", str, enum=Status.values)])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Return the people of the study by their codes, page by page."""
        return super().get(request, *args, **kwargs)


class StatusCountSerializer(serializers.Serializer):
    status = serializers.CharField()
    people = serializers.IntegerField()


class StepCountSerializer(serializers.Serializer):
    step = serializers.CharField()
    people = serializers.IntegerField()


class ArmCountSerializer(serializers.Serializer):
    arm = serializers.CharField()
    runs = serializers.IntegerField()
    closed = serializers.IntegerField()
    turns = serializers.IntegerField()
    failed = serializers.IntegerField()


class ProgressSerializer(serializers.Serializer):
    """Counts of people and arms; `steps` count only people who are under way."""

    statuses = StatusCountSerializer(many=True)
    steps = StepCountSerializer(many=True)
    arms = ArmCountSerializer(many=True)


class Progress(StudyView):
    @extend_schema(responses=ProgressSerializer, parameters=[TEST])
    def get(self, request: Request, key: str) -> Response:
        study = self.get_study()
        time_out_absent(study)
        test = request.query_params.get("test", "")
        numbers = {
            "statuses": counts.count_by_status(study, test=test),
            "steps": counts.count_by_step(study, test=test),
            "arms": counts.count_by_arm(study, test=test),
        }
        return Response(ProgressSerializer(numbers).data)
