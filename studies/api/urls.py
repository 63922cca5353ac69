from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path, re_path
from django.utils.functional import cached_property
from django.utils.module_loading import import_string


class LazyView:
    """A view of the API by its module and name, imported at the first request.

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


STUDY = "studies/<slug:key>/"

urlpatterns = [
    path("", LazyView("root.Addresses"), name="api"),
    path("schema/", LazyView("root.Schema"), name="api-schema"),
    path("check/", LazyView("studies.Check"), name="api-check"),
    path("studies/", LazyView("studies.Studies"), name="api-studies"),
    path(STUDY, LazyView("studies.OneStudy"), name="api-study"),
    path(f"{STUDY}arms/", LazyView("studies.Arms"), name="api-arms"),
    path(f"{STUDY}arms/<slug:arm>/pause/", LazyView("arms.Pause"), name="api-pause-arm"),
    path(f"{STUDY}arms/<slug:arm>/resume/", LazyView("arms.Resume"), name="api-resume-arm"),
    path(f"{STUDY}open/", LazyView("life.Open"), name="api-open"),
    path(f"{STUDY}pause/", LazyView("life.Pause"), name="api-pause"),
    path(f"{STUDY}close/", LazyView("life.Close"), name="api-close"),
    path(f"{STUDY}invites/", LazyView("people.Invites"), name="api-invites"),
    path(f"{STUDY}people/", LazyView("people.People"), name="api-people"),
    path(f"{STUDY}progress/", LazyView("people.Progress"), name="api-progress"),
    path(f"{STUDY}export.zip", LazyView("exports.Archive"), name="api-export"),
    path(f"{STUDY}tables/", LazyView("exports.Tables"), name="api-tables"),
    path(f"{STUDY}tables/<slug:name>.csv", LazyView("exports.OneTable"), name="api-table"),
    path(f"{STUDY}estimates/judge/", LazyView("tasks.JudgeEstimate"), name="api-estimate-judge"),
    path(f"{STUDY}estimates/simulation/", LazyView("tasks.SimulationEstimate"), name="api-estimate-simulation"),
    path(f"{STUDY}tasks/", LazyView("tasks.Tasks"), name="api-tasks"),
    path(f"{STUDY}tasks/<int:number>/", LazyView("tasks.OneTask"), name="api-task"),
    path(f"{STUDY}tasks/<int:number>/stop/", LazyView("tasks.Stop"), name="api-task-stop"),
    path(f"{STUDY}results/", LazyView("results.Results"), name="api-results"),
    path(f"{STUDY}results/<slug:name>.csv", LazyView("results.OneResult"), name="api-result"),
    path(f"{STUDY}webhooks/", LazyView("webhooks.Webhooks"), name="api-webhooks"),
    path(f"{STUDY}webhooks/<int:number>/", LazyView("webhooks.OneWebhook"), name="api-webhook"),
    path(f"{STUDY}webhooks/<int:number>/ping/", LazyView("webhooks.Ping"), name="api-webhook-ping"),
    path(f"{STUDY}webhooks/<int:number>/deliveries/", LazyView("webhooks.Deliveries"), name="api-deliveries"),
    # What is not there is told as everything else is, in JSON.
    re_path("", LazyView("root.Nowhere"), name="api-nowhere"),
]
