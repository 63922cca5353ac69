from django.urls import path

from studies.my_data import pages

urlpatterns = [
    path("", pages.my_data, name="my-data"),
    path("read/", pages.read_my_data, name="my-data-read"),
    path("my-data.json", pages.download_my_data, name="my-data-file"),
    path("receipt/<str:code>/", pages.download_receipt, name="my-data-receipt"),
]
