from django.urls import path

from studies.simulation import pages

urlpatterns = [
    path("<slug:study_key>/benchmark/", pages.benchmark, name="research-benchmark"),
    path("<slug:study_key>/benchmark/new/", pages.new_run, name="research-benchmark-new"),
    path("<slug:study_key>/benchmark/stop/", pages.stop, name="research-benchmark-stop"),
    path("<slug:study_key>/benchmark/go-on/", pages.go_on, name="research-benchmark-go-on"),
]
