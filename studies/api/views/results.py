"""Results: the tables of the latest analysis, and a new analysis."""

from typing import ClassVar

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound, PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from studies.api.views.root import RefusalSerializer, StudyView
from studies.api.views.tasks import TaskSerializer, read, start_task
from studies.board.work import REPORT
from studies.models import ApiToken, Study, Task
from studies.participation.timeouts import time_out_absent
from studies.participation.unblinding import is_blinded
from studies.workbench import tasks

TABLE = ".csv"


class ResultsSerializer(serializers.Serializer):
    task = serializers.IntegerField(help_text="The analysis from which these are.")
    ended_at = serializers.DateTimeField()
    tables = serializers.ListField(child=serializers.CharField())


class AnalysisSerializer(serializers.Serializer):
    include_tests = serializers.BooleanField(default=False)


class Results(StudyView):
    scopes: ClassVar = {"POST": ApiToken.Scope.RUN}

    @extend_schema(responses=ResultsSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return the names of the tables of the latest analysis. While the study is blind, 403."""
        task = newest_results(self.get_study())
        return Response({"task": task.pk, "ended_at": task.ended_at, "tables": sorted(tables_of(task))})

    @extend_schema(request=AnalysisSerializer, responses={201: TaskSerializer, 409: RefusalSerializer})
    def post(self, request: Request, key: str) -> Response:
        """Start an analysis of the data as they are now. It asks no model."""
        wish = read(AnalysisSerializer, request)
        return start_task(request, self.get_study(), "analyse", ["--include-tests"] if wish["include_tests"] else [])


class OneResult(StudyView):
    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
    def get(self, request: Request, key: str, name: str) -> HttpResponse:
        """Return one table of the latest analysis."""
        study = self.get_study()
        task = newest_results(study)
        if name not in tables_of(task):
            raise NotFound(f"There is no table {name}.")
        content = tasks.files_of(task)[f"{REPORT}{name}{TABLE}"].read_bytes()
        headers = {"Content-Disposition": content_disposition_header(True, f"{study.key}-{name}{TABLE}") or ""}
        return HttpResponse(content, content_type="text/csv; charset=utf-8", headers=headers)


def newest_results(study: Study) -> Task:
    """Return the latest analysis. Raise NotFound where there is none, PermissionDenied while the study is blind."""
    time_out_absent(study)
    if is_blinded(study):
        raise PermissionDenied("The study is blind: its results are shown when it is closed and no one is under way.")
    if task := tasks.newest_results(study):
        return task
    raise NotFound("There is no analysis yet. POST to this address starts one.")


def tables_of(task: Task) -> list[str]:
    names = [name.removeprefix(REPORT) for name in tasks.files_of(task) if name.startswith(REPORT)]
    return [name.removesuffix(TABLE) for name in names if name.endswith(TABLE) and "/" not in name]
