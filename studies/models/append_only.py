"""Triggers by which the database itself refuses to change or delete an entry of the audit log, whoever asks.

A study's entries can be deleted once the study itself is gone. On SQLite, a migration that alters the table drops
triggers, so it has to call `guard_log` again; `manage.py check_audit` says where they are missing.
"""

from django.db.backends.base.base import BaseDatabaseWrapper

TABLE = "studies_auditentry"
REFUSAL = "The audit log is append-only."
STUDY_STAYS = "OLD.study_key = '' OR EXISTS (SELECT 1 FROM studies_study WHERE key = OLD.study_key)"

TRIGGERS = {
    "sqlite": {
        "audit_no_update": f"BEFORE UPDATE ON {TABLE} BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
        "audit_no_delete": f"BEFORE DELETE ON {TABLE} WHEN {STUDY_STAYS} BEGIN SELECT RAISE(ABORT, '{REFUSAL}'); END",
    },
    "postgresql": {
        "audit_no_update": f"BEFORE UPDATE ON {TABLE} FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()",
        "audit_no_delete": f"BEFORE DELETE ON {TABLE} FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()",
        "audit_no_truncate": f"BEFORE TRUNCATE ON {TABLE} FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()",
    },
}
FUNCTION = f"""
CREATE OR REPLACE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND NOT ({STUDY_STAYS}) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION '{REFUSAL}';
END $$
"""
LISTS = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s",
    "postgresql": "SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND tgenabled = 'O'",
}


def guard_log(connection: BaseDatabaseWrapper) -> None:
    """Put the triggers on."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(FUNCTION)
        for name, what in TRIGGERS[connection.vendor].items():
            cursor.execute(f"CREATE TRIGGER {name} {what}")


def unguard_log(connection: BaseDatabaseWrapper) -> None:
    """Take the triggers off: to undo the migration, and for tests."""
    with connection.cursor() as cursor:
        for name in TRIGGERS[connection.vendor]:
            of_table = f" ON {TABLE}" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER {name}{of_table}")


def is_guarded(connection: BaseDatabaseWrapper) -> bool:
    """Return whether all triggers are on."""
    with connection.cursor() as cursor:
        cursor.execute(LISTS[connection.vendor], [TABLE])
        return {name for (name,) in cursor.fetchall()} >= set(TRIGGERS[connection.vendor])
