"""Reads `config.toml`: every bad entry is reported and left out, the rest is used (C72).

Writing is `saving.py`'s.
"""

import contextlib
import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nodwyn_tui.config import checks
from nodwyn_tui.config.allowed import KeyPath, allowed, known_keys
from nodwyn_tui.config.checks import Draft
from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.key_checks import check_bindings
from nodwyn_tui.config.problems import Problem
from nodwyn_tui.config.schema import ServerSettings, Settings
from nodwyn_tui.config.servers import built_in_servers
from nodwyn_tui.config.toml_lines import key_lines, unfinished_line
from nodwyn_tui.errors import ConfigError

LARGEST_FILE = 1_000_000
"""Bytes. Nobody writes more settings by hand."""

_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What the file gives. `servers` are all that can be used: the person's, then the well-known
    ones that the file does not name.
    """

    file: Path
    settings: Settings
    servers: Mapping[str, ServerSettings]
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[ConfigError, ...]:
        """The problems for which `run` and `config check` leave with exit code 2."""
        return tuple(problem.error for problem in self.problems if not problem.warning)

    def beside(self, path: str) -> Path:
        """A path of the settings: `~` is the home folder, a relative one starts at their file."""
        given = Path(path)
        with contextlib.suppress(RuntimeError):  # no home folder: then it will not be found
            given = given.expanduser()
        return self.file.parent / given


def load_settings(file: Path, environment: Environment, *, must_exist: bool = False) -> Loaded:
    """The settings of `file`; the defaults where there is none. Raises nothing: what is wrong is
    in `problems`. A file that is not TOML is one problem, and nothing of it is used.
    """
    known = built_in_servers(environment)
    try:
        text = read_text(file, must_exist=must_exist)
        values = parse(text, file)
    except ConfigError as error:
        return Loaded(file=file, settings=Settings(), servers=known, problems=(Problem(error),))
    return settings_of(values, file, environment, key_lines(text))


def settings_of(
    values: dict[str, Any],
    file: Path,
    environment: Environment,
    lines: Mapping[KeyPath, int] | None = None,
) -> Loaded:
    """The settings that the values of a file give, which are used up. `lines` says where they stand
    in it.
    """
    known = built_in_servers(environment)
    draft = Draft(file=str(file), values=values, lines=lines or {})
    named = set(values["servers"]) if isinstance(values.get("servers"), dict) else set()
    others = {name: server for name, server in known.items() if name not in named}
    checks.check_keys_in_clear(draft)
    checks.check_patterns(draft)
    check_bindings(draft)
    _warn_of_unknown_keys(draft)
    _complete_servers(draft, known)
    checks.check_servers(draft, _validated(draft))
    checks.check_models(draft, settings := _validated(draft), settings.servers | others)
    checks.check_marks(draft, _validated(draft))
    checks.check_names(draft, settings := _validated(draft), settings.servers | others)
    settings = _validated(draft)
    checks.warn_of_idle_settings(draft, settings, settings.servers | others)
    return Loaded(
        file=file,
        settings=settings,
        servers=settings.servers | others,
        problems=tuple(sorted(draft.problems, key=lambda problem: problem.error.line or 0)),
    )


def read_text(file: Path, *, must_exist: bool = False) -> str:
    """The file's text, '' where there is none; `ConfigError` for what cannot be read."""
    try:
        with file.open("rb") as stream:
            data = stream.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        if not must_exist:
            return ""
        raise ConfigError("there is no such file; check --config", file=str(file)) from error
    except OSError as error:
        raise ConfigError(
            f"cannot be read ({error.strerror}); mend its permissions, or name another file with "
            "--config",
            file=str(file),
        ) from error
    if len(data) > LARGEST_FILE:
        raise ConfigError(f"is larger than {LARGEST_FILE} bytes; shorten it", file=str(file))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError("is not UTF-8; save it as UTF-8", file=str(file), line=line) from error


def parse(text: str, file: Path) -> dict[str, Any]:
    """The text's values; a `ConfigError` names the line where it stops being TOML."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        words = str(error) if isinstance(error, ValueError) else "too many levels of nesting"
        place = _PLACE.search(words)
        told = int(place[1]) if place and place[1] else text.count("\n") + 1
        begun = unfinished_line(text)
        line = told if begun is None else min(told, begun)
        also = f", seen in line {told}" if line != told else ""
        raise ConfigError(
            f"is not TOML: {_PLACE.sub('', words)}{also}. Nothing of the file is used until this "
            "is mended",
            file=str(file),
            line=line,
        ) from error


def _warn_of_unknown_keys(draft: Draft, path: KeyPath = ()) -> None:
    known = known_keys(path)
    for key, value in list(draft.at(path).items()):
        place = (*path, key)
        if known is not None and key not in known:
            message = "is not known to this version and has no effect" + _hint(key, known)
            draft.report(place, message, warning=True)
        elif isinstance(value, dict):
            _warn_of_unknown_keys(draft, place)


def _hint(key: str, known: frozenset[str]) -> str:
    if near := difflib.get_close_matches(key, sorted(known), 1, 0.75):
        return f"; did you mean {near[0]}?"
    homes = [
        table for table in ("window", "ui", "approvals") if key in (known_keys((table,)) or ())
    ]
    return f"; it belongs in [{homes[0]}]" if homes and "window" in known else ""


def _complete_servers(draft: Draft, known: Mapping[str, ServerSettings]) -> None:
    """An entry with a well-known server's name need not repeat what is known of it. The usual key
    goes to the usual address only.
    """
    entries = draft.at(("servers",))
    for name, entry in entries.items() if isinstance(entries, dict) else ():
        usual = known.get(name)
        if usual is None or not isinstance(entry, dict):
            continue
        if entry.get("provider", usual.provider) != usual.provider:
            continue
        entry.setdefault("provider", usual.provider)
        if entry.setdefault("base_url", usual.base_url) == usual.base_url:
            entry.setdefault("credential", usual.credential)


def _validated(draft: Draft) -> Settings:
    """The draft's settings; what the schema refuses is left out, until it refuses nothing."""
    while True:
        try:
            return Settings.model_validate(draft.values)
        except ValidationError as error:
            refused = _refused(draft, error)
            for path in sorted(refused, key=len, reverse=True):  # keys before the table they are in
                _leave_out(draft, path, refused[path])


def _refused(draft: Draft, error: ValidationError) -> dict[KeyPath, str]:
    """Each place that was refused once, with the key that is missing there, if that is why."""
    refused: dict[KeyPath, str] = {}
    for detail in error.errors(include_url=False, include_context=False):
        path = _place(draft.values, detail["loc"])
        missing = str(detail["loc"][-1]) if detail["type"] == "missing" else ""
        refused.setdefault(path, missing)
    return refused


def _leave_out(draft: Draft, path: KeyPath, missing: str) -> None:
    if not missing:
        draft.leave_out(path, "has a value of the wrong kind", allowed=allowed(path))
    elif (*path, missing) in draft.left_out:
        draft.at(path[:-1]).pop(path[-1])  # its bad key was reported already
        draft.left_out.add(path)
    else:
        wanted = allowed((*path, missing))
        draft.leave_out(
            path, f"has no {missing}, and is left out", found="", allowed=f"{missing} = {wanted}"
        )


def _place(values: Mapping[str, Any], loc: Sequence[int | str]) -> KeyPath:
    """The part of an error's place that stands in the file: pydantic adds the arms of unions."""
    path: KeyPath = ()
    node: Any = values
    for step in loc:
        if not isinstance(node, dict) or step not in node:
            break
        path += (str(step),)
        node = node[step]
    return path
