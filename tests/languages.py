"""Languages as reports name them, for tests that want a certain one."""

from dialogue.languages import get_language

CHINESE = get_language("zh").html
