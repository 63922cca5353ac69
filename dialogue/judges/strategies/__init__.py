"""The strategies of judges. Each module of this package registers one; no other file of the product names them.

A strategy says what a judge is shown next to the conversation. To add one, copy the nearest module. An app outside the
product calls `register` in its `AppConfig.ready`. Pure.
"""

from importlib import import_module
from pkgutil import iter_modules

from dialogue.judges.strategies.base import (
    Strategy,
    fields_to_leave_out,
    get_strategies,
    get_strategy,
    register,
    unregister,
)

__all__ = ["Strategy", "fields_to_leave_out", "get_strategies", "get_strategy", "register", "unregister"]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
