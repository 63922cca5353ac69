from django.urls import path

from studies.care import pages

urlpatterns = [
    path("<slug:study_key>/risks/", pages.risks, name="research-risks"),
    path("<slug:study_key>/risks/<int:number>/release/", pages.release, name="research-release"),
]
