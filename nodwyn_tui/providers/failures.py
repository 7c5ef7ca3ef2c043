"""What a server says when it refuses, in any spelling, to one typed error (PRV-9). Pure."""

import html
import http
import json
import os
import re
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from nodwyn_tui.domain.request import Json
from nodwyn_tui.errors import ErrorKind, ProviderError
from nodwyn_tui.providers.kinds import classify
from nodwyn_tui.providers.retry import retry_after

MESSAGE_LIMIT = 600
DETAIL_LIMIT = 4096

REMEDIES: Mapping[ErrorKind, str] = {
    "authentication": "Check the key that the server's credential names; `nodwyn auth set {server}`"
    " keeps another one",
    "permission": "Check the account's rights and credit at the provider",
    "not_found": "Check the model's id and the server's base_url; /model lists what servers offer",
    "rate_limit": "Wait a while, or pick another model with /model",
    "overloaded": "Try again in a while, or pick another model with /model",
    "context_exceeded": "Make room with /clear, or set the model's context lower",
    "invalid_request": "Check the model's entry in config.toml",
    "refused_content": "Change what was asked: the provider refuses its content",
    "transport": "Check that the server runs and that its base_url is right",
    "timeout": "Try again, or raise the server's timeouts",
    "cancelled": "Send the message again",
    "incomplete_stream": "Send the message again; where it keeps breaking, the server's log or that"
    " of a proxy says why",
    "server_error": "Try again; the server's own log says more",
}
"""What the person can do about a kind of error where nothing better is known."""

_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_PASSING = {"true": True, "false": False}
"""The values of `x-should-retry`."""
_NESTING = 8
"""How often an error may be wrapped in another; gateways wrap what they were told."""


@dataclass(frozen=True, slots=True)
class _Words:
    """What an error object says: its text, every code and type in it, the field it names."""

    text: str = ""
    codes: tuple[str, ...] = ()
    field: str = ""


def error_in(payload: Json, *, detail: str = "") -> ProviderError | None:
    """The error that an event of a stream is, `None` for one that is a piece of a reply (C20).

    A numeric code from 400 to 599 inside it counts as the status.
    """
    if not isinstance(payload, Mapping) or not _is_error(payload):
        return None
    return _error(_words(payload), None, detail=detail or json.dumps(payload, ensure_ascii=False))


def error_event(data: str) -> ProviderError:
    """The error that an SSE event named `error` is, whatever stands in it."""
    try:
        words = _words(json.loads(data))
    except (ValueError, RecursionError):
        words = _Words(data)
    return _error(words, None, detail=data)


def frame_object(data: str) -> Mapping[str, Json]:
    """The JSON object that a frame holds; raises the error that anything else is."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise garbled(data) from None
    if not isinstance(value, Mapping):
        raise error_in({"error": value}) or garbled(data)
    return value


def garbled(data: str) -> ProviderError:
    """The error for a frame that is no JSON object."""
    return ProviderError(
        "server_error",
        f"the server sent something that is no part of a reply: {one_line(data)[:200]}",
        detail=data[:DETAIL_LIMIT],
    )


def incomplete(what: str = "") -> ProviderError:
    """The error for a stream without an end."""
    return ProviderError(
        "incomplete_stream",
        "the stream ended before the reply did" + (f" ({what})" if what else ""),
    )


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, address: str, now: datetime
) -> ProviderError:
    """The error of an answer that is not a stream (C34). `headers` with lower-case names."""
    text = body.decode("utf-8", "replace")
    detail = text[:DETAIL_LIMIT]
    if 300 <= status < 400:
        return _redirect(status, headers.get("location", ""), address)
    if title := page_title(headers.get("content-type", ""), text):
        kind = classify(status, (), title) if status >= 400 else "server_error"
        message = f"a web page “{title}” came from {address} in place of a reply"
        return ProviderError(kind, message, status=status, detail=detail)
    try:
        words = _words(json.loads(text))
    except (ValueError, RecursionError):
        words = _Words(text)
    if not words.text.strip():
        words = _Words(f"{_phrase(status)}, with nothing else said, from {address}", words.codes)
    error = _error(words, status, detail=detail)
    error.retry_after_s = retry_after(headers, error.message, now)
    error.passing = _PASSING.get(headers.get("x-should-retry", "").strip().lower())
    return error


def page_title(content_type: str, text: str) -> str:
    """The title of a web page, its beginning if it has none, '' for anything else."""
    start = text.lstrip()[:15].lower()
    if "text/html" not in content_type.lower() and not start.startswith(("<!doctype", "<html")):
        return ""
    found = _TITLE.search(text)
    title = one_line(html.unescape(found[1])) if found else ""
    return title[:200] or "without a title"


def one_line(text: str) -> str:
    """Text without control characters and line ends."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def reason(error: Exception) -> str:
    """The words of the failure at the bottom, which say more than those of the layers above."""
    inner: BaseException = error
    while below := _below(inner):
        inner = below
    if (
        isinstance(inner, OSError)
        and not isinstance(inner, ssl.SSLError)
        and (inner.errno or 0) > 0
    ):
        return os.strerror(inner.errno or 0)
    words = inner.strerror if isinstance(inner, OSError) and inner.strerror else str(inner)
    return one_line(words) or one_line(str(error)) or type(error).__name__


def _below(error: BaseException) -> BaseException | None:
    """What an error was made of: its cause, its first member, or what it was given whole. Not its
    context, which may be an earlier failure that is being handled.
    """
    if isinstance(error, BaseExceptionGroup):
        return error.exceptions[0]
    first = error.args[0] if error.args else None
    return error.__cause__ or (first if isinstance(first, BaseException) else None)


def at_server(
    error: ProviderError, *, server: str, remedy: str, redact: Callable[[str], str]
) -> ProviderError:
    """The same error with the server's name, nothing secret in it, and what the person can do."""
    return ProviderError(
        error.kind,
        redact(error.message),
        server=server,
        status=error.status,
        remedy=remedy or error.remedy or REMEDIES[error.kind].format(server=server),
        retry_after_s=error.retry_after_s,
        passing=error.passing,
        detail=redact(error.detail),
    )


def _redirect(status: int, location: str, address: str) -> ProviderError:
    return ProviderError(
        "invalid_request",
        f"{address} redirects to {one_line(location)[:200] or 'nowhere'}, which is not followed, "
        "so that no key goes to another host",
        status=status,
        remedy="If that is the right place, set it as the server's base_url",
    )


def _phrase(status: int) -> str:
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "An answer of an unknown kind"


def _error(words: _Words, status: int | None, *, detail: str) -> ProviderError:
    if status is None:
        numbers = (int(code) for code in words.codes if code.isdecimal() and len(code) == 3)
        status = next((number for number in numbers if 400 <= number < 600), None)
    kind: ErrorKind = classify(status, words.codes, words.text)
    message = one_line(words.text)[:MESSAGE_LIMIT] or "the server gave no reason"
    if words.field and words.field not in message:
        message = f"{words.field}: {message}"
    error = ProviderError(kind, message, status=status, detail=detail[:DETAIL_LIMIT])
    error.retry_after_s = retry_after({}, words.text, None)
    return error


def _is_error(payload: Mapping[str, Json]) -> bool:
    if payload.get("error"):
        return True
    if payload.get("object") == "error" or payload.get("type") == "error":
        return True
    flat = isinstance(payload.get("message"), str) or bool(payload.get("detail"))
    return flat and "choices" not in payload


def _words(value: Json, depth: int = _NESTING) -> _Words:
    if depth == 0:
        return _Words(str(value)[:MESSAGE_LIMIT])
    match value:
        case str():
            return _from_text(value, depth)
        case Mapping():
            return _from_object(value, depth)
        case list() if value:
            return _from_list(value, depth)
        case _:
            return _Words()


def _from_text(text: str, depth: int) -> _Words:
    start = text.find("{")
    if start >= 0:
        try:
            inner = _words(json.loads(text[start:]), depth - 1)
        except (ValueError, RecursionError):
            return _Words(text)
        if inner.text:
            return inner
    return _Words(text)


def _from_object(value: Mapping[str, Json], depth: int) -> _Words:
    found = _Words()
    for key in ("error", "message", "detail", "errors", "msg"):
        inner = value.get(key)
        if inner and (words := _words(inner, depth - 1)).text:
            found = words
            break
    codes = found.codes + tuple(
        str(holder[key])
        for holder in (value.get("details"), value)
        if isinstance(holder, Mapping)
        for key in ("error_code", "code", "type", "error_type", "status")
        if isinstance(holder.get(key), str | int) and not isinstance(holder[key], bool)
    )
    text, field = found.text, found.field or _field(value)
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping):
        # An aggregator's own text says little; what the provider behind it said stands in `raw`.
        upstream = _words(metadata.get("raw"), depth - 1)
        codes += (str(metadata.get("error_type", "")), *upstream.codes)
        if upstream.text not in text:
            text = f"{text}: {upstream.text}"
    return _Words(text, codes, field)


def _from_list(values: list[Json], depth: int) -> _Words:
    words = [_words(value, depth - 1) for value in values[:5]]
    parts = [f"{w.field}: {w.text}" if w.field else w.text for w in words if w.text]
    codes = tuple(code for w in words for code in w.codes)
    return _Words("; ".join(parts), codes)


def _field(value: Mapping[str, Json]) -> str:
    place = value.get("loc") or value.get("param")
    if isinstance(place, list):
        return ".".join(str(step) for step in place)
    return place if isinstance(place, str) else ""
