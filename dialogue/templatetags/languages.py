"""Languages in templates."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence

from django import template
from django.template import Context, Node, NodeList
from django.template.base import FilterExpression, Parser, Token, token_kwargs
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language as get_active_language
from django.utils.translation import gettext

from dialogue.languages import CODES, FIRST, LANGUAGES, Language, get_language

register = template.Library()

# A wide sign, the tags that close or open behind it, and the spaces that a template's new lines have left there.
BEHIND_WIDE_SIGN = re.compile(r"([，。：；？！、）…]”?)((?:\s|</?\w[^<>]*>)+)")
TAG = re.compile(r"<[^<>]*>")


@register.filter
def html_language(code: str) -> str:
    """Return what belongs into the attribute `lang` for one of our codes, or one of Django's."""
    return get_language(code).html


@register.filter
def name_of_language(code: str) -> str:
    """Return the name of a language in that of the page; what is no code of ours stays as it is."""
    return gettext(get_language(code).english_name) if code in CODES else code


@register.filter
def in_language(text: Mapping[str, str] | str) -> str:
    """Return the text in the language of the page. A text may also be one plain string."""
    if isinstance(text, str):
        return text
    return text.get(active_language().code) or next(iter(text.values()), "")


@register.tag
def fixed(parser: Parser, token: Token) -> Node:
    """Keep what stands up to `{% endfixed %}` once it is rendered.

    It is the same for everyone who reads a language, and sees no variables but those of `{% fixed name=value %}`: for
    each of their values it is kept apart. Give only values of which there are few, such as the lines of a country.
    """
    given = token_kwargs(token.split_contents()[1:], parser)
    nodes = parser.parse(("endfixed",))
    parser.delete_first_token()
    return Fixed(nodes, given)


class Fixed(Node):
    def __init__(self, nodes: NodeList, given: Mapping[str, FilterExpression]) -> None:
        self.nodes, self.given = nodes, given
        self.rendered: dict[tuple[Hashable, ...], SafeString] = {}

    def render(self, context: Context) -> SafeString:
        values = {name: expression.resolve(context) for name, expression in self.given.items()}
        place = (get_active_language(), *values.values())
        if place not in self.rendered:
            self.rendered[place] = self.nodes.render(context.new(values))
        return self.rendered[place]


@register.tag
def sentences(parser: Parser, _token: Token) -> Node:
    """Join what stands up to `{% endsentences %}` as the language of the page joins sentences.

    Chinese has no space behind its wide signs, and a template puts one wherever a new line begins.
    """
    nodes = parser.parse(("endsentences",))
    parser.delete_first_token()
    return Sentences(nodes)


class Sentences(Node):
    def __init__(self, nodes: NodeList) -> None:
        self.nodes = nodes

    def render(self, context: Context) -> SafeString:
        rendered = self.nodes.render(context)
        if active_language().spaces:
            return rendered
        joined = BEHIND_WIDE_SIGN.sub(lambda found: found[1] + "".join(TAG.findall(found[2])), rendered)
        return mark_safe(joined)  # noqa: S308 - only spaces go


@register.filter
def listed(members: Iterable[object]) -> str:
    """Return the members with the comma of the page's language between them."""
    return active_language().comma.join(map(str, members))


@register.simple_tag
def comma() -> str:
    """Return the comma between the parts of a sentence, with the space that the page's language has behind it."""
    return active_language().clause_comma


@register.simple_tag
def colon() -> str:
    return active_language().colon


@register.filter
def in_brackets(text: object) -> str:
    """Return a text in the brackets of the page's language, to be put behind a word."""
    return active_language().bracket(str(text))


def active_language() -> Language:
    return get_language(get_active_language() or FIRST.code)


@register.simple_tag
def known_languages() -> Sequence[Language]:
    return LANGUAGES


@register.simple_tag
def other_languages() -> Sequence[Language]:
    """Return the languages that this page is not in."""
    return [language for language in LANGUAGES if language != active_language()]
