from django.urls import path

from studies.connections import token_pages, webhook_pages

urlpatterns = [
    path("tokens/", token_pages.tokens, name="research-tokens"),
    path("tokens/<int:number>/revoke/", token_pages.revoke, name="research-token-revoke"),
    path("<slug:study_key>/webhooks/", webhook_pages.webhooks, name="research-webhooks"),
    path("<slug:study_key>/webhooks/<int:number>/stop/", webhook_pages.stop, name="research-webhook-stop"),
    path("<slug:study_key>/webhooks/<int:number>/ping/", webhook_pages.ping, name="research-webhook-ping"),
]
