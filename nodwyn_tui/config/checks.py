"""What the schema alone cannot tell of the person's file: names that must exist, marks in order,
addresses that are safe, keys that must not stand there.

A check looks at the settings so far and leaves bad entries out of the draft.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.config.credentials import CREDENTIAL_FORMS, OAUTH, credential_fault
from nodwyn_tui.config.problems import SECRET_KEYS, Problem, dotted, shown
from nodwyn_tui.config.schema import CacheControl, ProviderName, ServerSettings, Settings
from nodwyn_tui.config.servers import address_fault, sign_in_faults
from nodwyn_tui.errors import ConfigError

_LEAST_BUDGET = 1024
"""Tokens of thinking: no server takes less (PRV-1)."""

_PATTERN = re.compile(r"\*|[\w-]+\s*:\s*\S.*", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+")
_HEADER = re.compile(r"[A-Za-z0-9-]+")
_TAKEN_HEADERS = frozenset(
    {"authorization", "x-api-key", "cookie", "host", "user-agent", "connection", "keep-alive"}
    | {"content-type", "content-length", "content-encoding", "transfer-encoding", "te", "upgrade"}
    | {"accept", "accept-encoding", "expect", "trailer", "proxy-authorization"}
)

KEEPS_REASONING: frozenset[ProviderName] = frozenset({"responses", "anthropic"})
"""The protocols in which opaque reasoning goes back as `keep_reasoning` says."""

CACHE_ASKS: Mapping[ProviderName, tuple[CacheControl, ...]] = {
    "ollama": ("off",),
    "openai": ("off", "ephemeral", "1h"),
    "responses": ("off", "ephemeral", "12h"),
    "anthropic": ("off", "ephemeral", "1h"),
}
"""What a cache can be asked for, by protocol (PRV-3)."""


@dataclass(slots=True)
class Draft:
    """A file being read: what is left of it, where its keys stand, and what was wrong."""

    file: str
    values: dict[str, Any]
    lines: Mapping[KeyPath, int]
    problems: list[Problem] = field(default_factory=list)
    left_out: set[KeyPath] = field(default_factory=set)

    def at(self, path: KeyPath) -> Any:
        """The value at `path`, `None` where there is none."""
        node: Any = self.values
        for key in path:
            node = node.get(key) if isinstance(node, dict) else None
        return node

    def leave_out(
        self, path: KeyPath, message: str, *, found: str | None = None, allowed: str = ""
    ) -> None:
        """Reports the entry and takes it out. `found` is the value there, if not given."""
        if found is None:
            found = shown(path, self.at(path))
        self.report(path, message, found=found, allowed=allowed)
        self.at(path[:-1]).pop(path[-1], None)
        self.left_out.add(path)

    def report(
        self,
        path: KeyPath,
        message: str,
        *,
        found: str = "",
        allowed: str = "",
        warning: bool = False,
    ) -> None:
        """Reports the entry, which stays."""
        depth = next((n for n in range(len(path), 0, -1) if path[:n] in self.lines), 0)
        error = ConfigError(
            message,
            file=self.file,
            line=self.lines.get(path[:depth]),
            key=dotted(path),
            found=found,
            allowed=allowed,
        )
        self.problems.append(Problem(error, warning))


def check_keys_in_clear(draft: Draft) -> None:
    """A key under a name of its own, as other programs have it, has no place in the file."""
    for group in ("servers", "models"):
        for name, entry in _tables(draft.at((group,))):
            for key in [key for key in entry if key.lower() in SECRET_KEYS - {"credential"}]:
                draft.leave_out(
                    (group, name, key),
                    "a key may not stand in this file; keep it elsewhere and name the place in "
                    f"servers.{name}.credential",
                    allowed=CREDENTIAL_FORMS,
                )


def warn_of_idle_settings(
    draft: Draft, settings: Settings, servers: Mapping[str, ServerSettings]
) -> None:
    """Nobody should think that a setting works on a server whose protocol has no place for it."""
    for name, server in settings.servers.items():
        if server.api_version and server.provider != "anthropic":
            _warn_idle(draft, ("servers", name, "api_version"), server)
    for name, model in settings.models.items():
        server = servers[model.server]
        if model.keep_reasoning and server.provider not in KEEPS_REASONING:
            _warn_idle(draft, ("models", name, "keep_reasoning"), server)
        if model.summary and server.provider != "responses":
            _warn_idle(draft, ("models", name, "summary"), server)
        if model.effort and model.effort.isdecimal() and server.provider != "anthropic":
            words = f"a number of tokens is for anthropic's protocol, not for {server.provider}"
            draft.report(("models", name, "effort"), words, found=model.effort, warning=True)
        asks = CACHE_ASKS[server.provider]
        if model.cache_control not in asks:
            _warn_idle(draft, ("models", name, "cache_control"), server, " | ".join(asks))


def _warn_idle(draft: Draft, path: KeyPath, server: ServerSettings, allowed: str = "") -> None:
    draft.report(
        path,
        f"has no effect on a server that speaks {server.provider}",
        found=shown(path, draft.at(path)),
        allowed=allowed,
        warning=True,
    )


def _matching(draft: Draft, pattern: KeyPath) -> list[KeyPath]:
    paths: list[KeyPath] = [()]
    for key in pattern:
        names = [(path, draft.at(path)) for path in paths]
        paths = [
            (*path, name)
            for path, table in names
            if isinstance(table, dict)
            for name in (table if key == "*" else (key,))
            if name in table
        ]
    return paths


def check_patterns(draft: Draft) -> None:
    """Approval patterns of another shape would allow nothing, or not what was meant."""
    path = ("approvals", "allow")
    listed = draft.at(path)
    if not isinstance(listed, list):
        return
    for item in listed:
        if not is_pattern(item):
            draft.report(
                path, "not a pattern", found=shown((), item), allowed='"TOOL: GLOB" in a list'
            )
    listed[:] = [item for item in listed if is_pattern(item)]


def is_pattern(item: object) -> bool:
    """Whether something is an approval pattern: `TOOL: GLOB`, or `*`."""
    return isinstance(item, str) and _PATTERN.fullmatch(item) is not None


def check_servers(draft: Draft, settings: Settings) -> None:
    """Addresses, credentials and header names."""
    for name, server in settings.servers.items():
        path = ("servers", name)
        if fault := address_fault(server):
            draft.leave_out((*path, "base_url"), fault, found="")
        if server.credential and (fault := credential_fault(server.credential)):
            draft.leave_out((*path, "credential"), fault, allowed=CREDENTIAL_FORMS)
        _check_sign_in(draft, path, server)
        header = server.cache_key_header
        if header and not _HEADER.fullmatch(header):
            draft.leave_out(
                (*path, "cache_key_header"), "not a header's name", allowed="letters, digits and -"
            )
        elif header.lower() in _TAKEN_HEADERS:
            draft.leave_out(
                (*path, "cache_key_header"),
                "this header means something else already",
                allowed="a name of the router's own, such as x-session-id",
            )


def _check_sign_in(draft: Draft, path: KeyPath, server: ServerSettings) -> None:
    for key, fault in sign_in_faults(server.oauth).items() if server.oauth else ():
        draft.report((*path, "oauth", key), fault)
        if draft.at((*path, "oauth")) is not None:
            draft.at(path).pop("oauth")
            draft.left_out.add((*path, "oauth"))
    if server.credential.startswith(OAUTH) and draft.at((*path, "oauth")) is None:
        draft.leave_out(
            (*path, "credential"),
            f"there is no [{dotted((*path, 'oauth'))}] that says where one signs in",
        )


def check_models(draft: Draft, settings: Settings, servers: Mapping[str, ServerSettings]) -> None:
    """Each model has an id, an effort that can be asked for, and a server that exists."""
    for name, model in settings.models.items():
        if not model.model.strip():
            draft.leave_out(("models", name, "model"), "is blank", allowed="the id at its server")
        if model.effort and _NUMBER.fullmatch(model.effort) and int(model.effort) < _LEAST_BUDGET:
            draft.leave_out(
                ("models", name, "effort"),
                "too few tokens to think with",
                allowed=f"a word, or {_LEAST_BUDGET} tokens and more",
            )
        if model.server in servers:
            continue
        why = "was left out" if ("servers", model.server) in draft.left_out else "is not known"
        draft.leave_out(
            ("models", name),
            f"its server {model.server!r} {why}, so this model is left out",
            found="",
            allowed=" | ".join(servers),
        )


def check_marks(draft: Draft, settings: Settings) -> None:
    """Low water lies below high water, and high water within the context, where both are set."""
    window = settings.window
    _check_marks(draft, ("window",), window.low_water, window.high_water, None)
    for name, model in settings.models.items():
        if model.low_water is None and model.high_water is None:
            continue
        low = model.low_water if model.low_water is not None else window.low_water
        high = model.high_water if model.high_water is not None else window.high_water
        _check_marks(draft, ("models", name), low, high, model.context or model.num_ctx)


def _check_marks(
    draft: Draft, table: KeyPath, low: int | None, high: int | None, context: int | None
) -> None:
    wrong = allowed = ""
    if low is not None and high is not None and low >= high:
        wrong, allowed = "the marks are out of order", "low_water below high_water"
    elif high is not None and context is not None and high > context:
        wrong, allowed = "the mark lies beyond the context", f"high_water of {context} at most"
    if not wrong:
        return
    keys = [key for key in ("low_water", "high_water") if draft.at((*table, key)) is not None]
    draft.leave_out(
        (*table, keys[0]), wrong, found=f"low_water {low}, high_water {high}", allowed=allowed
    )
    for key in keys[1:]:
        draft.at(table).pop(key)


def check_names(draft: Draft, settings: Settings, servers: Mapping[str, ServerSettings]) -> None:
    """`model` and `fallback` name models that exist."""
    for key, name in (("model", settings.model), ("fallback", settings.fallback)):
        server, _, model_id = name.partition("/")
        if not name or name in settings.models or (model_id and server in servers):
            continue
        why = "was left out" if ("models", name) in draft.left_out else "does not exist"
        draft.leave_out(
            (key,),
            f"this model {why}",
            allowed=" | ".join(dotted((name,)) for name in settings.models) or "SERVER/ID",
        )


def _tables(value: Any) -> list[tuple[str, dict[str, Any]]]:
    if not isinstance(value, dict):
        return []
    return [(name, entry) for name, entry in value.items() if isinstance(entry, dict)]
