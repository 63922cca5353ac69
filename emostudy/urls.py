from django.contrib import admin
from django.urls import include, path

handler400 = "studies.views.broken.bad_request"
handler404 = "studies.views.broken.not_found"
handler500 = "studies.views.broken.server_error"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("studies.urls")),
]
