"""A form that confirms an act on a whole study by typing the study's key."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _

from studies.models import Study


class TypedKeyForm(forms.Form):
    key = forms.CharField(
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"})
    )

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data)
        self.study = study
        self.fields["key"].label = _("Type %(key)s to confirm") % {"key": study.key}

    def clean_key(self) -> str:
        key: str = self.cleaned_data["key"].strip()
        if key != self.study.key:
            raise forms.ValidationError(_("That is not the key of this study."))
        return key
