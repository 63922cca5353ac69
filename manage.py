#!/usr/bin/env python
import gc
import os
import sys


def main() -> None:
    gc.disable()  # studies.apps enables it: looking through what stays loaded takes a tenth of a start
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
