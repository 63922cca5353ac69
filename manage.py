#!/usr/bin/env python
import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "emostudy.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is not installed here. Run `make run`, or use .venv/bin/python.")
    from emostudy.discreet_log import install

    install()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
