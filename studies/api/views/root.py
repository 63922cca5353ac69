"""The parts of the API, and what all of its views share."""

from typing import Any, NoReturn

from django.shortcuts import get_object_or_404
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import APIException, NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from dialogue.providers.prices import PriceFileError
from studies.api import schema as schema  # the scheme of tokens registers itself
from studies.api.throttles import AddressThrottle
from studies.models import Study


class Conflict(APIException):
    """The request is right, but not as things are now."""

    status_code = 409
    default_code = "conflict"


class RefusalSerializer(serializers.Serializer):
    detail = serializers.CharField(help_text="What is wrong, in one sentence.")


class ApiView(APIView):
    """The base of all views: it counts requests by address before it looks up who asks."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        throttle = AddressThrottle()
        if not throttle.allow_request(request, self):
            self.throttled(request, throttle.wait())
        super().initial(request, *args, **kwargs)


class StudyView(ApiView):
    """The base of views about one study."""

    def get_study(self) -> Study:
        return get_object_or_404(Study, key=self.kwargs["key"])

    def handle_exception(self, exc: Exception) -> Response:
        """Say what is wrong with the price file, where an estimate needs it."""
        return super().handle_exception(Conflict(f"PRICES: {exc}") if isinstance(exc, PriceFileError) else exc)


class AddressesSerializer(serializers.Serializer):
    schema = serializers.URLField()
    studies = serializers.URLField()
    check = serializers.URLField(help_text="Checks the text of a study file.")  # type: ignore[assignment]


class Addresses(ApiView):
    @extend_schema(responses=AddressesSerializer)
    def get(self, request: Request) -> Response:
        """Return the addresses of the API's parts."""
        return Response({name: reverse(f"api-{name}", request=request) for name in ("schema", "studies", "check")})


class Schema(ApiView):
    @extend_schema(responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> Response:
        """Return the OpenAPI schema of all this."""
        return Response(SchemaGenerator().get_schema(request=None, public=True))


@extend_schema(exclude=True)
class Nowhere(ApiView):
    """Answer requests to addresses that do not exist."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> NoReturn:
        super().initial(request, *args, **kwargs)
        raise NotFound("There is no such address. The API's addresses end with a slash, those of files do not.")
