"""Collect texts for the catalogue, with the meanings of keys of the study file, which the builder shows."""

from django.core.management.commands import makemessages


class Command(makemessages.Command):
    xgettext_options = [*makemessages.Command.xgettext_options, "--keyword=about:1"]
