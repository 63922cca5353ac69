from django.urls import path

from studies.second_raters import comparison_pages, review_pages

urlpatterns = [
    path("<slug:study_key>/reviews/", review_pages.plans, name="research-reviews"),
    path("<slug:study_key>/reviews/new/", review_pages.new_plan, name="research-review-new"),
    path("<slug:study_key>/reviews/<int:number>/", review_pages.plan, name="research-review-plan"),
    path("<slug:study_key>/reviews/<int:number>/open/", review_pages.set_open, name="research-review-open"),
    path("<slug:study_key>/reviews/<int:number>/differing/", review_pages.differing, name="research-disagreements"),
    path(
        "<slug:study_key>/reviews/<int:number>/differing/<str:code>/<str:instrument>/<str:item>/",
        review_pages.case,
        name="research-disagreement",
    ),
    path("<slug:study_key>/pairs/", comparison_pages.plans, name="research-pairs"),
    path("<slug:study_key>/pairs/new/", comparison_pages.new_plan, name="research-pair-new"),
    path("<slug:study_key>/pairs/<int:number>/", comparison_pages.plan, name="research-pair-plan"),
    path("<slug:study_key>/pairs/<int:number>/open/", comparison_pages.set_open, name="research-pair-open"),
]
