"""The table of the cache that all server processes share, where there is no Redis."""

from django.core.management import call_command
from django.db import migrations


def create_table(_apps, schema_editor):
    call_command("createcachetable", "emostudy_cache", database=schema_editor.connection.alias, verbosity=0)


def drop_table(_apps, schema_editor):
    schema_editor.execute("DROP TABLE emostudy_cache")


class Migration(migrations.Migration):
    dependencies = [("studies", "0013_keep_what_people_depend_on")]
    operations = [migrations.RunPython(create_table, drop_table)]
