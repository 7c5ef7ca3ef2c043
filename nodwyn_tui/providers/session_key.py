"""The session's name for servers that route by it: stable across a resume, says nothing else."""

from nodwyn_tui.domain.canonical import sha256
from nodwyn_tui.domain.events import Parameters

SESSION_HEADERS = ("X-Session-Id", "X-Session-Affinity")

PLAN_SCOPE = "chatgpt.tokens.use.direct"
PLAN_HEADERS = ("session-id", "thread-id", "x-client-request-id")
"""What a plan's server routes by. It knows a plan by what the sign-in's token was granted; a
request with an API key never bears these."""


def session_key(session_id: str) -> str:
    """SHA-256 of the session id, lower-case hex (PRV-4)."""
    return sha256(session_id.encode("utf-8"))


def key_to_send(parameters: Parameters) -> str:
    """The session's key where `cache_key` lets it be sent, else ''."""
    return (parameters.session_key or "") if parameters.cache_key in {"session", "header"} else ""


def session_headers(
    parameters: Parameters, usual: tuple[str, ...] = SESSION_HEADERS
) -> dict[str, str]:
    """The headers that name the session: the usual ones, the server's own extra one, and a plan's
    where the token grants its use (PRV-4).
    """
    key = key_to_send(parameters)
    plan = PLAN_HEADERS if PLAN_SCOPE in (parameters.scopes or ()) else ()
    names = (*usual, *plan, parameters.cache_key_header or "")
    return {name: key for name in names if name and key}
