"""What PostgreSQL's error says about a DATABASE_URL that does not fit."""

import pytest
from django.db import connection

from studies.management.database_faults import describe


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            'connection to server at "127.0.0.1", port 5432 failed: FATAL:  database "trial_zz" does not exist',
            'there is no database called "trial_zz"',
        ),
        ('FATAL:  password authentication failed for user "emo"', 'refuses the user "emo"'),
        ('FATAL:  role "emo" does not exist', 'refuses the user "emo"'),
        ("connection refused", "no connection to a database at db.example.org:6543. Check host and port"),
    ],
)
def test_line_says_what_does_not_fit(monkeypatch, error, told):
    for name, value in (("HOST", "db.example.org"), ("PORT", 6543), ("PASSWORD", "hunter2")):
        monkeypatch.setitem(connection.settings_dict, name, value)
    line = describe(Exception(error))
    assert told in line
    assert "hunter2" not in line
