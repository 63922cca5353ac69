"""Studies: the list, one, its arms; and the check and loading of a study file."""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Prefetch, QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from studies.access.access import studies_of
from studies.access.granting import make_founder
from studies.api.permissions import may_touch
from studies.api.views.root import ApiView, StudyView
from studies.builder.drafts import check_draft, load_draft, open_draft
from studies.builder.files import FILE_NAME, LONGEST_TEXT, MOST_FILES
from studies.design.reading import LARGEST_FILE
from studies.models import ApiToken, Arm, Protocol, Study, StudyDraft
from studies.setup.model_keys import unset_keys
from studies.workbench.access import title_of


class ArmSerializer(serializers.ModelSerializer):
    title = serializers.DictField(child=serializers.CharField(), help_text="By language.")
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
        fields = ["key", "title", "version", "created_at", "stage"]

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

    @extend_schema_field(ArmSerializer(many=True))
    def get_arms(self, study: Study) -> Any:
        return ArmSerializer(study.protocols.all()[0].arms.all(), many=True).data


class FileSerializer(serializers.Serializer):
    """A study file, and the files beside it that it names."""

    toml = serializers.CharField(max_length=LARGEST_FILE, trim_whitespace=False)
    files = serializers.DictField(
        child=serializers.CharField(max_length=LONGEST_TEXT, trim_whitespace=False, allow_blank=True),
        required=False,
        help_text="Texts by file name: prompts (supporter.en.txt) and role cards (cards.json).",
    )

    def validate_files(self, files: dict[str, str]) -> dict[str, str]:
        if len(files) > MOST_FILES:
            raise ValidationError(f"At most {MOST_FILES} files.")
        for name in files:
            if not FILE_NAME.fullmatch(name):
                raise ValidationError(f"{name!r}: a name of letters, digits, _ and - that ends in .txt or .json.")
        return files


class FaultSerializer(serializers.Serializer):
    place = serializers.CharField(allow_blank=True, help_text="As `arms[2].base_url`; empty for the whole file.")
    fault = serializers.CharField()


class CheckedSerializer(serializers.Serializer):
    ok = serializers.BooleanField()
    key = serializers.CharField(allow_blank=True, help_text="Of the study; empty where something is wrong.")
    faults = FaultSerializer(many=True)


class RefusedFileSerializer(serializers.Serializer):
    detail = serializers.CharField()
    faults = FaultSerializer(many=True)


class LoadedSerializer(serializers.Serializer):
    study = StudyDetailSerializer()
    outcome = serializers.ChoiceField(["created", "unchanged", "changed", "new version"])
    unset_variables = serializers.ListField(
        child=serializers.CharField(), help_text="Environment variables with keys of models that the server lacks."
    )


def studies() -> QuerySet[Study]:
    newest_first = Prefetch("protocols", queryset=Protocol.objects.order_by("-version"))
    return Study.objects.order_by("key").prefetch_related(newest_first)


class Check(ApiView):
    scopes = {"POST": ApiToken.Scope.READ}

    @extend_schema(request=FileSerializer, responses=CheckedSerializer)
    def post(self, request: Request) -> Response:
        """Check a study file as `load_study` does. Nothing is stored."""
        draft = draft_of(request)
        checked = check_draft(draft)
        faults = list_faults(checked.faults.items())
        return Response({"ok": not faults, "key": checked.spec.key if checked.spec else "", "faults": faults})


def draft_of(request: Request) -> StudyDraft:
    serializer = FileSerializer(data=request.data)
    serializer.is_valid(raise_exception=True)
    return StudyDraft(text=serializer.validated_data["toml"], files=serializer.validated_data.get("files", {}))


def list_faults(faults: Any) -> list[dict[str, str]]:
    return [{"place": place, "fault": message} for place, messages in faults for message in messages]


class Studies(ApiView, ListAPIView):
    queryset = studies()
    serializer_class = StudySerializer

    def get_queryset(self) -> QuerySet[Study]:
        token = self.request.auth
        mine = {"pk": token.study_id} if isinstance(token, ApiToken) and token.study_id else {}
        return super().get_queryset().filter(pk__in=studies_of(self.request.user), **mine)

    @extend_schema(
        request=FileSerializer,
        responses={201: LoadedSerializer, 200: LoadedSerializer, 422: RefusedFileSerializer},
    )
    def post(self, request: Request) -> Response:
        """Load a study file: a new study, or a new version of one for people who have not begun. With a fault, nothing
        is stored; each is told with its place."""
        draft = draft_of(request)
        checked = check_draft(draft)
        if checked.spec is None:
            return refused_file(list_faults(checked.faults.items()))
        if not may_touch(request, checked.spec.key):
            raise PermissionDenied(f"Neither the token nor your role lets you load {checked.spec.key}.")
        with transaction.atomic():
            loaded = load_draft(open_draft(draft.text, draft.files, request.user))
            if loaded.outcome == "created":
                make_founder(loaded.protocol.study, request.user)
        study = studies().get(pk=loaded.protocol.study_id)
        body = {
            "study": StudyDetailSerializer(study).data,
            "outcome": loaded.outcome,
            "unset_variables": sorted({key.variable for key in unset_keys(checked.spec)}),
        }
        is_new = loaded.outcome == "created"
        return Response(body, status=status.HTTP_201_CREATED if is_new else status.HTTP_200_OK)


def refused_file(faults: Sequence[dict[str, str]]) -> Response:
    body = {"detail": "The study file has faults. Nothing was stored.", "faults": faults}
    return Response(body, status=status.HTTP_422_UNPROCESSABLE_ENTITY)


class OneStudy(ApiView, RetrieveAPIView):
    queryset = studies()
    serializer_class = StudyDetailSerializer
    lookup_field = "key"


class Arms(StudyView):
    @extend_schema(responses=ArmSerializer(many=True))
    def get(self, request: Request, key: str) -> Response:
        """Return the arms of the study's newest version. Keys of models are never shown."""
        arms = self.get_study().current().arms.order_by("number", "pk")
        return Response(ArmSerializer(arms, many=True).data)
