"""Exports: a table as CSV, or all of them as ZIP, sent while they are made."""

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from django.conf import settings
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from studies.api.streams import csv_pieces, stream, zip_pieces
from studies.api.views.root import StudyView
from studies.data.exports.columns import Filter
from studies.data.exports.files import write_export
from studies.data.exports.masking import read_rows
from studies.data.exports.tables import TABLES
from studies.models import ApiToken
from studies.participation.timeouts import time_out_absent

INCLUDE_TESTS = OpenApiParameter("include_tests", bool, description="With test data; real people only by default.")
TABLE_BY_NAME = {table.name: table for table in TABLES}


class TableSerializer(serializers.Serializer):
    name = serializers.CharField()
    a_row_is = serializers.CharField()
    rows = serializers.IntegerField()


class ExportView(StudyView):
    scopes: ClassVar = {"GET": ApiToken.Scope.EXPORT}

    def get_filter(self, request: Request) -> Filter:
        return Filter(include_tests=request.query_params.get("include_tests") == "true")


class Tables(ExportView):
    @extend_schema(responses=TableSerializer(many=True), parameters=[INCLUDE_TESTS])
    def get(self, request: Request, key: str) -> Response:
        """Return the tables of an export and how many rows each has now."""
        study, only = self.get_study(), self.get_filter(request)
        rows = [{"name": t.name, "a_row_is": t.a_row_is, "rows": t.count(study, only)} for t in TABLES]
        return Response(TableSerializer(rows, many=True).data)


class OneTable(ExportView):
    @extend_schema(
        responses={(200, "text/csv"): OpenApiTypes.STR},
        parameters=[INCLUDE_TESTS, OpenApiParameter("name", str, "path", enum=list(TABLE_BY_NAME))],
    )
    def get(self, request: Request, key: str, name: str) -> StreamingHttpResponse:
        """Return one table from the current data, as an export writes it."""
        study, table = self.get_study(), TABLE_BY_NAME.get(name)
        if table is None:
            raise NotFound(f"There is no table {name}. There are: {', '.join(TABLE_BY_NAME)}.")
        time_out_absent(study)
        header = [column.name for column in table.columns]
        pieces = csv_pieces(itertools.chain([header], read_rows(table, study, self.get_filter(request))))
        return stream(request, pieces, name=f"{study.key}-{table.file}", content_type="text/csv; charset=utf-8")


class Archive(ExportView):
    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY}, parameters=[INCLUDE_TESTS])
    def get(self, request: Request, key: str) -> StreamingHttpResponse:
        """Return a whole export of one moment as ZIP: all tables, the codebook, the designs and the manifest. Nothing
        of it stays on the server."""
        study = self.get_study()
        time_out_absent(study)
        folder = TemporaryDirectory(prefix="export-", dir=settings.VAR)
        try:
            write_export(study, Path(folder.name), only=self.get_filter(request))
        except BaseException:
            folder.cleanup()
            raise
        name = f"{study.key}-export.zip"
        return stream(request, zip_pieces(folder), name=name, content_type="application/zip", at_end=folder.cleanup)
