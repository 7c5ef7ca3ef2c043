"""What is wrong in the person's file: one record an entry, and how keys and values are shown."""

import re
from dataclasses import dataclass
from typing import Any

from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.errors import ConfigError

SECRET_KEYS = frozenset(
    {"credential", "api_key", "apikey", "api-key", "key", "token", "secret", "password"}
    | {"auth_token", "access_token", "authorization", "bearer"}
)
"""Keys whose value is never shown: a key may stand there by mistake."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_KEY_LIKE = re.compile(r"(?:sk|pk|gsk|csk|xai|key|hf|gh[a-z])[-_]|[A-Za-z0-9_-]{24,}|://[^/]*@")
_LONGEST_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Problem:
    """A bad entry (left out), or with `warning` one that merely has no effect."""

    error: ConfigError
    warning: bool = False

    @property
    def text(self) -> str:
        """One line: file, line, key, what is wrong, what was found and what is allowed."""
        return str(self.error)


def dotted(path: KeyPath) -> str:
    """A key as one would write it in the file."""
    return ".".join(
        key if _BARE.fullmatch(key) else '"' + repr(key)[1:-1].replace('"', '\\"') + '"'
        for key in path
    )


def shown(path: KeyPath, value: Any) -> str:
    """A found value for a message: short, without control characters, never a key (SEC-1)."""
    if path and path[-1].lower() in SECRET_KEYS:
        return "a value that is not shown"
    match value:
        case bool():
            return str(value).lower()
        case dict() | list():
            return "a table" if isinstance(value, dict) else "a list"
        case str():
            return _shown_text(value)
        case _:
            return str(value)


def shown_place(name: str) -> str:
    """The name of a variable, a file or an entry for a message, unless somebody may have put the
    key itself in its stead.
    """
    plain = "/" in name or "\\" in name or name.isupper() or not _KEY_LIKE.search(name)
    return name if plain and name.isprintable() else "(its name is not shown: it may be a key)"


def _shown_text(text: str) -> str:
    if _KEY_LIKE.search(text):
        return f"text of {len(text)} characters"
    return repr(text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…")
