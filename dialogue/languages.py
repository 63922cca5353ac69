"""The languages in which people can take part. The one place that lists them."""

LANGUAGES = ("en", "zh")
