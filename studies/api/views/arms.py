"""Pause and resume an arm of a study."""

from typing import ClassVar

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from studies.api.views.root import Conflict, RefusalSerializer, StudyView
from studies.api.views.studies import ArmSerializer
from studies.api.views.tasks import read
from studies.models.board import LONGEST_REASON
from studies.participation import board_acts


class WhySerializer(serializers.Serializer):
    reason = serializers.CharField(max_length=LONGEST_REASON, help_text="Kept with your name.")


class ArmView(StudyView):
    """The base of views that pause or resume one arm."""

    paused: ClassVar[bool]

    @extend_schema(request=WhySerializer, responses={200: ArmSerializer, 409: RefusalSerializer})
    def post(self, request: Request, key: str, arm: str) -> Response:
        study, reason = self.get_study(), read(WhySerializer, request)["reason"]
        row = get_object_or_404(study.current().arms, key=arm)
        if not board_acts.set_paused(study, arm, paused=self.paused, by=request.user, reason=reason):
            raise Conflict("The arm is paused already." if self.paused else "The arm is not paused.")
        row.refresh_from_db()
        return Response(ArmSerializer(row).data)


class Pause(ArmView):
    """Keep the arm out of new orders. People who have it in their order still meet it."""

    paused = True


class Resume(ArmView):
    """Put the arm into new orders again."""

    paused = False
