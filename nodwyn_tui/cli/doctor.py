"""`nodwyn doctor`: what works here and what does not, and what can be done about it.

Nothing is changed, and no host is asked but a local Ollama's.
"""

import argparse
import asyncio
import platform
import shutil
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from nodwyn_tui import __version__
from nodwyn_tui.agent.offers import listed
from nodwyn_tui.cli import output
from nodwyn_tui.cli.auth import standing_of
from nodwyn_tui.cli.configured import Configured, config_option, configured, household
from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.errors import StoreError
from nodwyn_tui.store.images import ImageFiles
from nodwyn_tui.store.places import shelves

WHAT = "What works here, what does not, and what can be done about it."
State = Literal["ok", "missing", "problem"]
MARKS = {"ok": "✓", "missing": "-", "problem": "✗"}
OLLAMA = "ollama"
NAMED = 20
"""Images without a session that are named."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at; `missing` is what Nodwyn does without."""

    check: str
    state: State
    detail: str


def run(arguments: Sequence[str]) -> int:
    """Looks at everything, and tells."""
    parser = argparse.ArgumentParser(prog="nodwyn doctor", description=WHAT)
    parser.add_argument("--json", action="store_true", help="as JSON")
    config_option(parser)
    parsed = parser.parse_args(arguments)
    found = configured(parsed.config)
    findings = [
        *_program(),
        *_terminal(found.environment),
        *_programs(found.environment),
        _settings(found),
        *_keys(found),
        asyncio.run(_ollama(parsed.config)),
        *_sessions(found, parsed.config),
    ]
    if parsed.json:
        output.json_line([asdict(finding) for finding in findings])
        return 0
    width = max(len(finding.check) for finding in findings)
    for finding in findings:
        output.show(f"{MARKS[finding.state]} {finding.check:<{width}}  {finding.detail}")
    return 0


def _program() -> Iterator[Finding]:
    where = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield Finding("nodwyn", "ok", f"{__version__}, {where}")


def _terminal(environment: Environment) -> Iterator[Finding]:
    name, size = environment.get("TERM"), shutil.get_terminal_size()
    if not sys.stdout.isatty():
        yield Finding("terminal", "missing", "the output goes to no terminal")
    elif name in {"", "dumb"}:
        yield Finding("terminal", "problem", f"TERM={name or '(unset)'}: the screen needs another")
    else:
        yield Finding("terminal", "ok", f"{name}, {size.columns} columns, {size.lines} rows")
    yield _colours(environment, name)
    pixels = {"halves": "in half cells", "kitty": "by Kitty's protocol", "sixel": "as Sixels"}
    shown = pixels.get(environment.pictures)
    yield Finding(
        "pictures",
        "ok" if shown else "missing",
        f"shown {shown}" if shown else "none without colour (NO_COLOR)",
    )


def _colours(environment: Environment, terminal: str) -> Finding:
    if environment.no_color:
        return Finding("colours", "missing", "none: NO_COLOR is set")
    if environment.get("COLORTERM") in {"truecolor", "24bit"}:
        return Finding("colours", "ok", "16 million")
    return Finding("colours", "ok", "256" if "256" in terminal else "16")


def _programs(environment: Environment) -> Iterator[Finding]:
    """Programs that are used where they are there."""
    wanted = {
        "git": "branches and changes of a project are not seen",
        "rg": "searches take longer (ripgrep)",
    }
    path = environment.get("PATH")
    for name, without in wanted.items():
        place = shutil.which(name, path=path)
        yield Finding(name, "ok" if place else "missing", place or f"not found: {without}")
    yield Finding("sandbox", "missing", "none in this version: shell commands ask, unless allowed")
    clipboard = ("pbpaste",) if sys.platform == "darwin" else ("wl-paste", "xclip")
    tool = next((each for each in clipboard if shutil.which(each, path=path)), "")
    without = f"images are not pasted from it; install {' or '.join(clipboard)}, or use /image"
    yield Finding("clipboard", "ok" if tool else "missing", tool or f"no program: {without}")


def _settings(found: Configured) -> Finding:
    wrong = len(found.loaded.errors)
    if wrong:
        said = f"{wrong} entr{'y is' if wrong == 1 else 'ies are'} wrong: `nodwyn config check`"
        return Finding("settings", "problem", f"{found.file}: {said}")
    if not found.file.exists():
        return Finding("settings", "missing", f"{found.file} (none yet)")
    return Finding("settings", "ok", str(found.file))


def _keys(found: Configured) -> Iterator[Finding]:
    """Keys that are there, and those of the person's own servers that are not."""
    for name, server in found.loaded.servers.items():
        standing = standing_of(found, name, server)
        own = name in found.loaded.settings.servers
        if standing.state in {"there", "when needed"}:
            yield Finding(f"key {name}", "ok", standing.credential)
        elif own and standing.state in {"missing", "unusable"}:
            said = standing.detail or f"not there; `nodwyn auth set {name}` keeps one"
            yield Finding(f"key {name}", "problem", f"{standing.credential}: {said}")


async def _ollama(config_file: str) -> Finding:
    models = household(config_file, quiet=True).models
    if OLLAMA not in models.loaded.servers:
        return Finding("Ollama", "missing", "no server of that name")
    answer = await listed(models, OLLAMA)
    if answer.failures:
        return Finding("Ollama", "missing", answer.failures[0])
    count = len(answer.models)
    said = f"{count} model{'s' * (count != 1)}" if count else "no models yet: `nodwyn models pull`"
    return Finding("Ollama", "ok" if count else "missing", said)


def _sessions(found: Configured, config_file: str) -> Iterator[Finding]:
    """The index's library, and images that no session here names (IMG-9)."""
    with closing(sqlite3.connect(":memory:")) as index:
        try:
            index.execute("create virtual table words using fts5(text)")
        except sqlite3.OperationalError:
            yield Finding("index", "problem", "SQLite without FTS5: sessions can't be searched")
        else:
            yield Finding("index", "ok", f"SQLite {sqlite3.sqlite_version} with full-text search")
    state = find_paths(found.environment, config_file).state
    for shelf in shelves(Path.cwd(), state):
        files = ImageFiles(shelf / "any")
        try:
            yield from _images(files)
        except StoreError as error:
            yield Finding("images", "problem", str(error))


def _images(files: ImageFiles) -> Iterator[Finding]:
    kept, unnamed = len(files.names()), sorted(files.unnamed())
    if not kept:
        return
    yield Finding("images", "ok", f"{kept} kept in {files.folder}")
    if unnamed:
        more = f" and {len(unnamed) - NAMED} more" if len(unnamed) > NAMED else ""
        said = f"{len(unnamed)} that no session here names, which can be removed: "
        yield Finding("images", "problem", said + ", ".join(unnamed[:NAMED]) + more)
