"""Say in one line why PostgreSQL could not be reached, as far as its error tells."""

import re

from django.db import connection

NO_DATABASE = re.compile(r'database "([^"]+)" does not exist')
REFUSED = re.compile(r'(?:password authentication failed for user|role) "([^"]+)"')
SECONDS = 5  # for a connection


def describe(error: Exception) -> str:
    """Return the line for an error of connecting. It never repeats the address, which holds a password."""
    message = str(error)
    if match := NO_DATABASE.search(message):
        return (
            f'emostudy: DATABASE_URL: there is no database called "{match[1]}". Check the name in DATABASE_URL, or '
            "create the database"
        )
    if match := REFUSED.search(message):
        return f'emostudy: DATABASE_URL: PostgreSQL refuses the user "{match[1]}". Check the user and the password'
    server = connection.settings_dict
    place = f"{server['HOST'] or 'localhost'}:{server['PORT'] or 5432}"
    return (
        f"emostudy: DATABASE_URL: no connection to a database at {place}. Check host and port in DATABASE_URL, whether "
        "PostgreSQL runs there, and whether it lets this machine in (pg_hba.conf)"
    )


def find_fault() -> str:
    """Return the line that says why no connection can be made; empty where one can."""
    if connection.vendor != "postgresql":
        return ""
    parameters = {**connection.get_connection_params(), "connect_timeout": SECONDS}
    try:
        connection.Database.connect(**parameters).close()
    except connection.Database.OperationalError as error:
        return describe(error)
    return ""
