from django.urls import path

from studies.workbench import asking_first, new_links, signing_in

urlpatterns = [
    path("sign-in/", signing_in.SignIn.as_view(), name="research-sign-in"),
    path("sign-in/", signing_in.SignIn.as_view(), name="account_login"),  # allauth's name for it
    path("sign-out/", signing_in.SignOut.as_view(), name="research-sign-out"),
    path("<slug:study_key>/confirm/", asking_first.confirm, name="research-confirm"),
    path("<slug:study_key>/links/<slug:page>/", new_links.links_page, name="research-links"),
]
