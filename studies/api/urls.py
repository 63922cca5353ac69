from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.functional import cached_property
from django.utils.module_loading import import_string


class LazyView:
    """A view of the API by its name, imported at the first request.

    Django REST framework and drf-spectacular take 15 MB, which a server that does not need them saves. The schema reads
    `cls` and `initkwargs`.
    """

    csrf_exempt = True  # as the framework's views are: it checks for itself

    def __init__(self, name: str) -> None:
        self.name = f"studies.api.views.{name}"

    @cached_property
    def view(self) -> Any:
        return import_string(self.name).as_view()

    @property
    def cls(self) -> type:
        return self.view.cls

    @property
    def initkwargs(self) -> dict[str, Any]:
        return self.view.initkwargs

    def __call__(self, request: HttpRequest, **kwargs: str) -> HttpResponse:
        return self.view(request, **kwargs)


urlpatterns = [
    path("", LazyView("Addresses"), name="api"),
    path("studies/", LazyView("Studies"), name="api-studies"),
    path("studies/<slug:key>/", LazyView("OneStudy"), name="api-study"),
    path("studies/<slug:key>/progress/", LazyView("Progress"), name="api-progress"),
    path("studies/<slug:key>/ratings.csv", LazyView("Ratings"), name="api-ratings"),
    path("schema/", LazyView("Schema"), name="api-schema"),
]
