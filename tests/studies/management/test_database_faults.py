"""What PostgreSQL's error says about a DATABASE_URL that does not fit."""

import pytest

from studies.management.database_faults import AWAY, describe


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            'connection to server at "127.0.0.1", port 5432 failed: FATAL:  database "trial_zz" does not exist',
            'there is no database called "trial_zz"',
        ),
        ('FATAL:  password authentication failed for user "emo"', 'refuses the user "emo"'),
        ('FATAL:  role "emo" does not exist', 'refuses the user "emo"'),
        ("connection refused", AWAY),
    ],
)
def test_line_says_what_does_not_fit(error, told):
    assert told in describe(Exception(error))
