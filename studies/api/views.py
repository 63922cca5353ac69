"""The read-only API for researchers; the settings' default permission is IsAdminUser."""

import csv
import io
from collections.abc import AsyncIterator, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import Prefetch, QuerySet
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.permissions import IsAdminUser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from studies.api.serializers import AddressesSerializer, ProgressSerializer, StudyDetailSerializer, StudySerializer
from studies.data.exports.columns import Filter
from studies.data.exports.tables import RATINGS, ratings
from studies.models import Protocol, Study
from studies.participation import counts
from studies.participation.timeouts import time_out_absent
from studies.workbench.csv_cells import cell

ROWS_AT_ONCE = 500
TEST = OpenApiParameter("test", str, enum=["yes", "no"], description="Test data alone, or real people alone.")
INCLUDE_TESTS = OpenApiParameter("include_tests", bool, description="With test data; real people only by default.")


def studies() -> QuerySet[Study]:
    newest_first = Prefetch("protocols", queryset=Protocol.objects.order_by("-version"))
    return Study.objects.order_by("key").prefetch_related(newest_first)


class Addresses(APIView):
    """The root of the API with the addresses of its parts."""

    @extend_schema(responses=AddressesSerializer)
    def get(self, request: Request) -> Response:
        return Response({name: reverse(f"api-{name}", request=request) for name in ("schema", "studies")})


class Schema(SpectacularAPIView):
    permission_classes = (IsAdminUser,)


class Studies(ListAPIView):
    queryset = studies()
    serializer_class = StudySerializer


class OneStudy(RetrieveAPIView):
    queryset = studies()
    serializer_class = StudyDetailSerializer
    lookup_field = "key"


class Progress(APIView):
    @extend_schema(responses=ProgressSerializer, parameters=[TEST])
    def get(self, request: Request, key: str) -> Response:
        study = get_object_or_404(Study, key=key)
        time_out_absent(study)
        test = request.query_params.get("test", "")
        found = {
            "statuses": counts.by_status(study, test=test),
            "steps": counts.by_step(study, test=test),
            "arms": counts.by_arm(study, test=test),
        }
        return Response(ProgressSerializer(found).data)


class Ratings(APIView):
    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR}, parameters=[INCLUDE_TESTS])
    def get(self, request: Request, key: str) -> StreamingHttpResponse:
        """Return ratings.csv of an export from the current data."""
        study = get_object_or_404(Study, key=key)
        only = Filter(include_tests=request.query_params.get("include_tests") == "true")
        header = [column.name for column in RATINGS]
        headers = {"Content-Disposition": f'attachment; filename="{study.key}-ratings.csv"'}
        pieces = stream_pieces(csv_pieces(chain([header], ratings(study, only))))
        return StreamingHttpResponse(pieces, content_type="text/csv; charset=utf-8", headers=headers)


def csv_pieces(rows: Iterator[Iterable[Any]]) -> Iterator[str]:
    while some := list(islice(rows, ROWS_AT_ONCE)):
        text = io.StringIO(newline="")
        csv.writer(text).writerows([cell(value) for value in row] for row in some)
        yield text.getvalue()


async def stream_pieces(pieces: Iterator[str]) -> AsyncIterator[str]:
    """Yield the pieces asynchronously; otherwise Django gathers everything under ASGI before it sends the
    first byte."""
    while piece := await sync_to_async(next)(pieces, ""):
        yield piece
