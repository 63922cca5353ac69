from django.urls import path

from studies.audit import pages

urlpatterns = [
    path("<slug:study_key>/audit/", pages.log, name="research-audit"),
    path("<slug:study_key>/audit/export.csv", pages.log_file, name="research-audit-file"),
]
