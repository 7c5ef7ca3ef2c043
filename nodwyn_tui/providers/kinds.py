"""Which kind of error a status, a code or a text means: tables, tried from the surest down."""

import re
from collections.abc import Mapping, Sequence

from nodwyn_tui.errors import ErrorKind

_CODES: Mapping[str, ErrorKind] = {
    "context_length_exceeded": "context_exceeded",
    "exceed_context_size_error": "context_exceeded",
    "model_context_window_exceeded": "context_exceeded",
    "request_too_large": "context_exceeded",
    # A quota that is used up does not come back by waiting: no rate limit, and never retried.
    "insufficient_quota": "permission",
    "payment_required": "permission",
    "billing_error": "permission",
    "contract_spend_limit_reached": "permission",
    "enforced_spend_limit_reached": "permission",
    "linked_organization_spend_limit_reached": "permission",
    "linked_organization_billing_unavailable": "permission",
    "organization_on_hold": "permission",
    "permission_error": "permission",
    "usage_not_included": "permission",
    "data_residency_mismatch": "permission",
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "too_many_requests": "rate_limit",
    "resource_exhausted": "rate_limit",
    "overloaded_error": "overloaded",
    "provider_overloaded": "overloaded",
    "provider_unavailable": "overloaded",
    "server_is_overloaded": "overloaded",
    "unavailable_error": "overloaded",
    "invalid_api_key": "authentication",
    "authentication_error": "authentication",
    "model_not_found": "not_found",
    "not_found_error": "not_found",
    "content_filter": "refused_content",
    "content_policy_violation": "refused_content",
    "refusal": "refused_content",
    "bio_policy": "refused_content",
    "misalignment_policy_violation": "refused_content",
    "image_content_policy_violation": "refused_content",
    "timeout_error": "timeout",
    "timeout": "timeout",
}

_STATUS: Mapping[int, ErrorKind] = {
    401: "authentication",
    402: "permission",
    403: "permission",
    404: "not_found",
    408: "timeout",
    413: "context_exceeded",
    429: "rate_limit",
    499: "cancelled",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}

_RATE = re.compile(r"rate.?limit|too many requests|requests per|tokens per", re.IGNORECASE)
_CONTEXT = re.compile(
    r"context_length_exceeded|maximum context length|exceeds the context window"
    r"|prompt is too long|exceeds? the available context size|exceed_context_size_error"
    r"|input is too long|maximum allowed input length|request_too_large"
    r"|longer than the context length|exceeds? (?:the )?context limit",
    re.IGNORECASE,
)
_BUSY = re.compile(
    r"overloaded|over capacity|at capacity|limit reached|server (?:is )?busy|try again later"
    r"|temporarily unavailable|no available|loading model",
    re.IGNORECASE,
)
_FLAGGED = re.compile(
    r"flagged|moderation|content (?:management |filtering )?policy|safety system", re.IGNORECASE
)
_ACCOUNT = re.compile(
    r"credit balance is too low|reached your .{0,30}usage limits?|organization has been disabled",
    re.IGNORECASE,
)
"""What is wrong with an account, where a server calls it a wrong request."""
_KEY = re.compile(
    r"(?:invalid|incorrect|expired).{0,20}api.?key|api.?key.{0,20}not valid", re.IGNORECASE
)


_REFUSALS = frozenset(
    {"invalid_request_error", "wrong_api_format", "invalid_prompt", "invalid_image"}
    | {"invalid_image_format", "invalid_base64_image", "invalid_image_url", "invalid_image_mode"}
    | {"image_too_large", "image_too_small", "image_parse_error", "image_file_too_large"}
    | {"unsupported_image_media_type", "empty_image_file"}
)
"""Codes that say that the request itself is at fault; inside a stream they are all there is."""


def classify(status: int | None, codes: Sequence[str], text: str) -> ErrorKind:
    """The kind: by a known code, by words that outrank the status, by status, by weaker words."""
    for code in codes:
        if kind := _CODES.get(code.lower()):
            return kind
    if kind := _by_strong_words(status, text):
        return kind
    if status is not None and (kind := _STATUS.get(status)):
        return kind
    if _BUSY.search(text) and not _is_refusal(status):
        return "overloaded"
    blamed = any(code.lower() in _REFUSALS for code in codes)
    return "invalid_request" if _is_refusal(status) or blamed else "server_error"


def _by_strong_words(status: int | None, text: str) -> ErrorKind | None:
    # Texts on rate limits name tokens and maxima too, so they are looked for first.
    if _RATE.search(text):
        return "rate_limit" if status in {None, 400, 429} else None
    if _CONTEXT.search(text):
        return "context_exceeded"
    if status in {None, 400} and _KEY.search(text):
        return "authentication"
    if status in {None, 400} and _ACCOUNT.search(text):
        return "permission"
    if status in {None, 400, 403} and _FLAGGED.search(text):
        return "refused_content"
    return None


def _is_refusal(status: int | None) -> bool:
    return status is not None and 400 <= status < 500
