from django.urls import path

from studies.judging import judge_fields, matrix, pages

urlpatterns = [
    path("<slug:study_key>/judges/", pages.judges, name="research-judges"),
    path("<slug:study_key>/judges/start/", matrix.start_judge, name="research-start-judge"),
    path("<slug:study_key>/judges/probe/", pages.start_probe, name="research-probe"),
    path("<slug:study_key>/judges/without/", judge_fields.start_without, name="research-without"),
]
