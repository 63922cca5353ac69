from django.urls import path

from studies.payments import pages

urlpatterns = [
    path("<slug:study_key>/payments/", pages.payments, name="research-payments"),
    path("<slug:study_key>/payments/pay/", pages.mark_paid, name="research-pay"),
    path("<slug:study_key>/payments/correct/", pages.correction, name="research-correct-payment"),
    path("<slug:study_key>/payments/ids/", pages.payees, name="research-payees"),
    path("<slug:study_key>/payments/<int:number>/undo/", pages.undo_payment, name="research-undo-payment"),
    path("<slug:study_key>/payments/<int:number>/undo-all/", pages.undo_booking, name="research-undo-booking"),
    path("<slug:study_key>/payments/<slug:name>.csv", pages.payments_file, name="research-payments-file"),
]
