"""The stages of a study: open, pause, close."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from studies.api.views.root import Conflict, StudyView
from studies.api.views.tasks import read
from studies.life import stages
from studies.models import Stage


class ReasonSerializer(serializers.Serializer):
    reason = serializers.CharField(max_length=300, default="", allow_blank=True, help_text="Kept with the change.")


class MovedSerializer(serializers.Serializer):
    stage = serializers.ChoiceField(Stage.choices)


class NotReadySerializer(serializers.Serializer):
    detail = serializers.CharField()
    missing = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="What has to be there before the study can open."
    )


class StageView(StudyView):
    """The base of views that take a study to one stage."""

    to: ClassVar[Stage]

    @extend_schema(request=ReasonSerializer, responses={200: MovedSerializer, 409: NotReadySerializer})
    def post(self, request: Request, key: str) -> Response:
        study, reason = self.get_study(), read(ReasonSerializer, request)["reason"]
        try:
            stages.move(study, self.to, stages.Actor.of(request.user), reason=reason)
        except stages.NotReady as refusal:
            body = {"detail": "Something is missing before it can open.", "missing": [r.text for r in refusal.missing]}
            return Response(body, status=status.HTTP_409_CONFLICT)
        except stages.StageUnreachable as refusal:
            raise Conflict(
                f"The study is in the stage {refusal.at.value} and cannot go to {refusal.to.value}."
            ) from refusal
        except stages.ReasonNeeded as refusal:
            raise Conflict("Its results by arm have been open, so opening it again needs a reason.") from refusal
        return Response({"stage": study.stage})


class Open(StageView):
    """Open the study to real people, for the first time or again."""

    to = Stage.OPEN


class Pause(StageView):
    """Pause the study: no one new begins; conversations that have begun can be finished."""

    to = Stage.PAUSED


class Close(StageView):
    """Close the study: no one new begins; people who have begun may finish."""

    to = Stage.CLOSED
