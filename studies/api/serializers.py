from typing import Any

from rest_framework import serializers

from studies.models import Arm, Study
from studies.workbench.access import title_of


class AddressesSerializer(serializers.Serializer):
    schema = serializers.URLField()
    studies = serializers.URLField()


class ArmSerializer(serializers.ModelSerializer):
    demonstration = serializers.BooleanField(source="is_demonstration")

    class Meta:
        model = Arm
        fields = ["key", "title", "kind", "model", "base_url", "provider", "prompt", "paused", "demonstration"]


class StudySerializer(serializers.ModelSerializer):
    """A study by its newest version. The view has read the versions, newest first."""

    title = serializers.SerializerMethodField()
    version = serializers.SerializerMethodField()

    class Meta:
        model = Study
        fields = ["key", "title", "version", "created_at"]

    def get_title(self, study: Study) -> str:
        return title_of(study.protocols.all()[0])

    def get_version(self, study: Study) -> int:
        return int(study.protocols.all()[0].version)


class StudyDetailSerializer(StudySerializer):
    protocol_hash = serializers.SerializerMethodField()
    arms = serializers.SerializerMethodField()

    class Meta(StudySerializer.Meta):
        fields = [*StudySerializer.Meta.fields, "protocol_hash", "arms"]

    def get_protocol_hash(self, study: Study) -> str:
        return study.protocols.all()[0].hash()

    def get_arms(self, study: Study) -> list[dict[str, Any]]:
        return ArmSerializer(study.protocols.all()[0].arms.all(), many=True).data


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
