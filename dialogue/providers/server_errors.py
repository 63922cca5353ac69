"""Failures of a model's server in the terms of base.STATUSES, read from its status, its codes, its words or the
connection. Pure: any client may ask.

A text of ours is one sentence that says what to do. A server's own words are kept without the key and its ends.
"""

import json
import math
import re
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from dialogue.providers.addresses import host_of, lacks_version
from dialogue.providers.base import (
    BAD_CERTIFICATE,
    KEY_REFUSED,
    QUOTA_SPENT,
    REGION_REFUSED,
    TOO_LONG,
    WRONG_ADDRESS,
    ProviderError,
)
from dialogue.providers.characters import clean_text

NO_KEY = "none"  # what a server that asks for no key is sent
LONGEST_DETAIL = 500
LONG_KEY, KEY_BEGINS, KEY_ENDS = 12, 6, 4  # characters
KEY_LIKE = re.compile(r"[A-Za-z0-9_.*\u2026-]+")
TITLE = re.compile(r"<title[^>]*>\s*([^<]{1,100}?)\s*</title>", re.IGNORECASE)
NOT_FOUND = re.compile(r"^\W*(?:404|405)?\W*(?:page |path |url )?(?:not found|method not allowed)\W*$", re.IGNORECASE)

# Codes as servers write them, without all but letters and digits, and the HTTP status that each stands for. The first
# that is found counts. Of OpenAI, Anthropic, Google, Alibaba Cloud, DeepSeek, Moonshot, Volcengine, vLLM.
STATUS_OF_CODE = (
    (r"ratelimit|throttl|toomanyrequests|resourceexhausted|limitrequests|limitburst|quota|serverbusy", 429),
    (r"arrear|insufficientbalance|paymentrequired|billing", 402),
    (r"overloaded|unavailable|internalerror|internalservererror|servererror|apierror", 503),
    (r"timeout|timedout|deadlineexceeded", 408),
    (r"authentication|invalidapikey|incorrectapikey|unauthorized|unauthenticated", 401),
    (r"permission|accessdenied|forbidden|unsupportedcountry", 403),
    (r"notfound", 404),
    (r"invalidrequest|badrequest|invalidparameter|invalidargument|invalidvalue|unsupported", 400),
)
SPENT = re.compile(r"insufficient\w*quota|exceededcurrentquota|freetieronly|arrear|overdue|insufficientbalance|billing")
SPENT_WORDS = re.compile(r"insufficient balance|credit balance is too low|余额不足|欠费", re.IGNORECASE)
FILTERED = re.compile(r"contentfilter|contentpolicy|datainspection|moderation|sensitive|promptblocked|responsibleai")
FILTERS = re.compile(
    r"content exists risk|inappropriate content|considered high risk|requires moderation|content (?:policy|filter)"
    r"|(?:input|prompt|message|content|text)s?\b[^.]{0,40}\bflagged"
    r"|敏感(?:内容|词|信息)|不安全|违规|不当内容|内容安全",
    re.IGNORECASE,
)
LONG_CODES = re.compile(r"contextlength|contextwindow|contextsize|requesttoolarge|outofcontext|prompttoolong")
LONG_WORDS = re.compile(
    r"context[ _-]?(?:length|size|window|limit)"
    r"|maximum (?:prompt|input|sequence|model) length|max_(?:model|seq)_len|longer than the (?:maximum )?model"
    r"|range of input length|input length should be|number of tokens allowed|max(?:imum)? message tokens"
    r"|reduce (?:the|your) (?:length of the )?(?:messages|prompt|input)\b"
    r"|`?inputs`? (?:tokens|must have less)"
    r"|\b(?:prompt|input|request|messages?)\b.{0,80}\btoo (?:long|large)"
    r"|\b(?:prompt|input|request|messages?|number of tokens)\b.{0,80}\bexceed\w*\b.{0,60}"
    r"\b(?:tokens?|length|limit|max(?:imum)?)\b"
    r"|上下文.{0,20}(?:超|过长|长度)"
    r"|(?:输入|提示词?|消息|对话|prompt|(?<!max_)tokens?).{0,20}(?:过长|太长|超长|超出|超过|超限)"
    r"|(?:超出|超过|大于).{0,20}(?:上下文|最大长度|最大输入|长度限制)",
    re.IGNORECASE | re.DOTALL,
)
OF_RATE = re.compile(
    r"\brates?\b|rate[ _-]?limit|\bper[ _-]?(?:min|hour|day|second)|\bquota|\b[TR]P[MD]\b"
    r"|频率|速率|每分钟|每秒|并发|配额|额度|余额|次数",
    re.IGNORECASE,
)
FOR_ANY_RATE = re.compile(r"request too large", re.IGNORECASE)  # larger than what is allowed in a whole minute
ANSWER_ALONE = (  # the longest answer that is allowed for, and what the model takes in all
    re.compile(r"too large: (?P<answer>\d+)\b.*?context length is (?P<all>\d+)", re.DOTALL),
    re.compile(r"context length is (?P<all>\d+)\b.*?(?P<answer>\d+) (?:for|in) the completion", re.DOTALL),
)
REGION = re.compile(r"\bcountr(?:y|ies)\b|\bregions?\b|\bterritor|地区|国家|区域", re.IGNORECASE)
OF_KEY = re.compile(r"\bkeys?\b|\btokens?\b|credential|authenticat|authoriz|密钥|令牌|鉴权", re.IGNORECASE)


class ServerReport(NamedTuple):
    """A failure in a server's own words: its message, and its codes, types and states."""

    message: str
    code: str = ""


def find_report(document: Any) -> ServerReport | None:
    """Return the failure that a JSON document reports, or None.

    It knows the forms of OpenAI, Anthropic, Google, vLLM, Ollama, FastAPI and Alibaba Cloud.
    """
    if isinstance(document, list) and len(document) == 1:  # Google's
        document = document[0]
    if not isinstance(document, dict):
        return None
    error = document.get("error")
    if isinstance(error, dict):
        return _make_report(error)
    if error:
        return ServerReport(_words(error), _codes(document))
    if "choices" not in document and (document.get("object") == "error" or _message(document)):
        return _make_report(document)
    return None


def read_report(http_status: int, body: str) -> ServerReport:
    """Return the failure that the body of a failed answer reports; of a web page, its title alone."""
    if body.lstrip("\ufeff \r\n\t").startswith("<"):
        title = TITLE.search(body)
        return ServerReport(f"HTTP {http_status}, a web page{f' ({title[1]})' if title else ''}.")
    try:
        report = find_report(json.loads(body))
    except (ValueError, RecursionError):
        report = None
    return report or ServerReport(f"HTTP {http_status}: {body}")


def _make_report(error: Mapping[str, Any]) -> ServerReport:
    codes = _codes(error)
    return ServerReport(_message(error) or codes, codes)


def _message(error: Mapping[str, Any]) -> str:
    return next((_words(error[name]) for name in ("message", "msg", "detail") if error.get(name)), "")


def _codes(error: Mapping[str, Any]) -> str:
    codes = (error.get(name) for name in ("code", "type", "error_type", "status"))
    return " ".join(str(one) for one in codes if one is not None and not isinstance(one, dict | list))


def _words(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def status_for_code(code: str) -> int | None:
    """Return the HTTP status that a code stands for, written as a number or as a word."""
    for word in code.split():
        if len(word) == 3 and word.isascii() and word.isdigit() and word[0] in "45":
            return int(word)
    squeezed = _squeeze(code)
    return next((status for pattern, status in STATUS_OF_CODE if re.search(pattern, squeezed)), None)


def _squeeze(code: str) -> str:
    return re.sub(r"[^a-z0-9]", "", code.lower())


def error_for_report(report: ServerReport, *, otherwise: int, hide: str, partial: str = "") -> ProviderError:
    """Return the error for a failure reported within a stream, or in an answer with a status of success. `otherwise` is
    the HTTP status where its codes name none."""
    status = status_for_code(report.code) or otherwise
    return error_for_status(status, hide_key(report.message, hide), code=report.code, partial=partial)


def error_for_status(
    http_status: int, detail: str, *, code: str = "", retry_after: float | None = None, partial: str = ""
) -> ProviderError:
    """Return the error for an HTTP status. `detail` holds the server's words without the key, `code` is that of
    ServerReport."""
    squeezed = _squeeze(code)
    if is_filtered(http_status, detail, squeezed):
        return ProviderError("refused", detail, permanent=True, partial=partial)
    if is_too_long(http_status, detail, squeezed):
        detail = f"This is too long for the model: {detail}"[:LONGEST_DETAIL]
        return ProviderError(TOO_LONG, detail, permanent=True, partial=partial)
    if http_status == 401:
        return ProviderError(KEY_REFUSED, "HTTP 401.", permanent=True)  # the server's own words may quote the key
    if http_status == 403 and OF_KEY.search(detail) and not REGION.search(detail):
        return ProviderError(KEY_REFUSED, f"HTTP 403: {detail}"[:LONGEST_DETAIL], permanent=True, partial=partial)
    if is_spent(http_status, detail, squeezed):
        return ProviderError(QUOTA_SPENT, detail, permanent=True, partial=partial)
    if http_status == 403:
        status = REGION_REFUSED if REGION.search(detail) else "client_error"
        return ProviderError(status, f"HTTP 403: {detail}"[:LONGEST_DETAIL], permanent=True, partial=partial)
    if http_status == 429:
        return ProviderError("rate_limited", detail, retry_after=retry_after, partial=partial)
    if http_status == 408:
        return ProviderError("timeout", detail, retry_after=retry_after, partial=partial)
    if http_status < 500:
        return ProviderError("client_error", detail, permanent=True, partial=partial)
    return ProviderError("server_error", detail, retry_after=retry_after, partial=partial)


def is_filtered(http_status: int, message: str, squeezed_code: str) -> bool:
    """Return True where a content filter stopped it: another question may be answered."""
    if FILTERED.search(squeezed_code):
        return True
    return http_status in (400, 403, 451) and FILTERS.search(message) is not None


def is_spent(http_status: int, message: str, squeezed_code: str) -> bool:
    """Return True where the account has no quota or money left: asking again cannot help until somebody adds some."""
    if http_status == 402 or SPENT.search(squeezed_code):
        return True
    return http_status in (400, 403, 429) and SPENT_WORDS.search(message) is not None


def is_too_long(http_status: int, message: str, squeezed_code: str) -> bool:
    """Return True where this question has more text than the model or its server takes.

    A `max_tokens` that is too large by itself is another fault, because then no question can be asked.
    """
    if http_status == 413:
        return True
    if http_status == 429:
        return FOR_ANY_RATE.search(message) is not None
    if http_status not in (400, 422) and http_status < 500:
        return False
    if any((match := one.search(message)) and int(match["answer"]) >= int(match["all"]) for one in ANSWER_ALONE):
        return False
    if LONG_CODES.search(squeezed_code):
        return True
    return LONG_WORDS.search(message) is not None and OF_RATE.search(message) is None


class ServerFailure(Exception):
    """No usable answer came from a server. Raised where the address and the key are not known, which the words for
    people need."""

    def as_provider_error(self, base_url: str, *, hide: str, partial: str = "") -> ProviderError:
        """Return this failure as a ProviderError. `hide` is the key, `partial` what had come before."""
        raise NotImplementedError


class StatusError(ServerFailure):
    """The server answered with a status other than success. Holds what it says, and when to ask again."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__(status)
        self.status = status
        self.location = headers.get("location", "")
        self.retry_after = retry_after(headers, datetime.now(UTC))
        self.message, self.code = read_report(status, body)

    def is_about_stream_options(self) -> bool:
        text = self.message
        return self.status in (400, 422) and ("stream_options" in text or "include_usage" in text)

    def as_provider_error(self, base_url: str, *, hide: str, partial: str = "") -> ProviderError:
        if self.status < 400:
            return self._refuse_redirect(base_url, hide)
        detail = hide_key(self.message, hide)
        if self.status in (404, 405) and not self.code and self._is_of_address():
            detail = f"{host_of(base_url)} has no chat completions at this address ({self.status}){_advice(base_url)}"
            return ProviderError(WRONG_ADDRESS, detail, permanent=True)
        return error_for_status(self.status, detail, code=self.code, retry_after=self.retry_after)

    def _is_of_address(self) -> bool:
        words = self.message.removeprefix(f"HTTP {self.status}")
        return words.startswith(", a web page") or not words.strip(": ") or NOT_FOUND.match(words) is not None

    def _refuse_redirect(self, base_url: str, hide: str) -> ProviderError:
        """Refuse a redirect, which would send people's words to a server that no study names."""
        to = redirect_target(base_url, self.location)
        where = f" redirects to {to}" if to else f" answers with status {self.status}, a redirect to nowhere"
        detail = f"{host_of(base_url)}{where}, and nothing was sent there: set base_url to the right address yourself."
        return ProviderError(WRONG_ADDRESS, hide_key(detail, hide), permanent=True)


def redirect_target(base_url: str, location: str) -> str:
    """Return the base URL that a redirect leads to, without its query, which may hold secrets."""
    try:
        to = urlsplit(urljoin(base_url, location)) if location else None
        place = f"{to.scheme}://{to.hostname}" if to and to.hostname else ""
        port = f":{to.port}" if to and to.port else ""
    except ValueError:
        return ""
    return f"{place}{port}{to.path.removesuffix('/chat/completions')}" if to and place else ""


def error_for_no_completion(base_url: str, what: str) -> ProviderError:
    """Return the permanent error for an answer that is no model's, such as `a web page`."""
    detail = f"{host_of(base_url)} answers with {what} in place of a model's reply{_advice(base_url)}"
    return ProviderError(WRONG_ADDRESS, detail, permanent=True)


def _advice(base_url: str) -> str:
    return ": check base_url, which probably lacks /v1." if lacks_version(base_url) else ": check base_url."


class LostConnectionError(ServerFailure):
    """There was no connection, or it broke. `silence`: seconds for which one that stood brought nothing."""

    def __init__(self, error: BaseException, *, silence: float | None = None) -> None:
        super().__init__()
        self.error, self.silence = error, silence

    def as_provider_error(self, base_url: str, *, hide: str, partial: str = "") -> ProviderError:
        if self.silence is not None:
            return ProviderError("timeout", f"Nothing came for {self.silence:g} s.", partial=partial)
        return error_for_connection(self.error, base_url, hide=hide, partial=partial)


def error_for_connection(error: BaseException, base_url: str, *, hide: str, partial: str = "") -> ProviderError:
    if faults := [one for one in causes(error) if isinstance(one, ssl.SSLCertVerificationError)]:
        reason = getattr(faults[-1], "verify_message", "") or "it cannot be verified"
        detail = (
            f"The certificate of {host_of(base_url)} is not valid ({reason.rstrip('.')}): check the host in base_url, "
            "or let SSL_CERT_FILE name the certificate of your own authority."
        )
        return ProviderError(BAD_CERTIFICATE, hide_key(detail, hide), permanent=True, partial=partial)
    status = "timeout" if isinstance(error, TimeoutError) else "network"
    return ProviderError(status, hide_key(f"{type(error).__name__}: {error}", hide), partial=partial)


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error, and what led to it."""
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the server asks to wait, given as milliseconds, seconds or a date; None where it asks for
    none."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after", "").strip()
    seconds = _number(value)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        then = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - now).total_seconds())


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def hide_key(text: str, key: str) -> str:
    """Return the text without the key and words that begin or end like it: servers quote it as `sk-ab***yz`."""
    if key != NO_KEY:
        text = text.replace(key, "***")
    if key != NO_KEY and len(key) >= LONG_KEY:
        ends = (key[:KEY_BEGINS], key[-KEY_ENDS:])
        text = KEY_LIKE.sub(lambda match: "***" if any(end in match[0] for end in ends) else match[0], text)
    return clean_text(text)[:LONGEST_DETAIL]
