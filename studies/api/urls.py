from django.urls import path
from drf_spectacular.views import SpectacularAPIView
from rest_framework.permissions import IsAdminUser

from studies.api import views

urlpatterns = [
    path("studies/", views.Studies.as_view(), name="api-studies"),
    path("studies/<slug:key>/", views.OneStudy.as_view(), name="api-study"),
    path("studies/<slug:key>/progress/", views.Progress.as_view(), name="api-progress"),
    path("studies/<slug:key>/ratings.csv", views.Ratings.as_view(), name="api-ratings"),
    path("schema/", SpectacularAPIView.as_view(permission_classes=[IsAdminUser]), name="api-schema"),
]
