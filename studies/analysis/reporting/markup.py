"""HTML from values: every text is escaped unless it is `Markup` already."""

from html import escape


class Markup(str):
    """Text that is HTML."""


def tag(name: str, *children: str, **attributes: str) -> Markup:
    """Return an element; `class_` loses the underscore that Python needs, and `aria_label` becomes `aria-label`."""
    names = {key: key.rstrip("_").replace("_", "-") for key in attributes}
    opening = "".join(f' {names[key]}="{escape(value)}"' for key, value in attributes.items())
    content = "".join(child if isinstance(child, Markup) else escape(child) for child in children)
    return Markup(f"<{name}{opening}>{content}</{name}>")
