from django.contrib import admin
from django.urls import include, path

handler400 = "studies.person.broken.bad_request"
handler404 = "studies.person.broken.not_found"
handler500 = "studies.person.broken.server_error"

admin.autodiscover()

urlpatterns = [
    path("admin/", admin.site.urls),
    path("", include("studies.urls")),
]
