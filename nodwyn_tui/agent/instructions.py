"""Standing instructions for assistants: `AGENTS.md` of the person and of the workspace (ORD-11).

Read once, at the session's start, into the system prompt; a later change would cost the whole
prompt cache, so it waits for the next session.
"""

from collections.abc import Iterator
from pathlib import Path

from nodwyn_tui.domain.canonical import clean

NAMES = ("AGENTS.md", "CLAUDE.md")
"""Of one folder, the first that is there."""

MOST_BYTES = 12_000
"""Of one file; the rest is left out at a line's end, and said to be."""


def with_instructions(system: str, person: Path, workspace: Path) -> str:
    """The system prompt with what the person's config folder and the workspace say, in this order,
    each framed with its path.
    """
    return "\n\n".join([system, *_found(person, str(person)), *_found(workspace, "")])


def _found(folder: Path, shown: str) -> Iterator[str]:
    for name in NAMES:
        path = folder / name
        if not path.is_file():
            continue
        data, size = _read(path, folder)
        if text := _cut(data, size).strip():
            where = f"{shown}/{name}" if shown else name
            yield f'<instructions file="{where}">\n{text}\n</instructions>'
            return


def _read(path: Path, folder: Path) -> tuple[bytes, int]:
    """The file's beginning and size; nothing of a link that leads out of its folder: a repository
    may bring one along, and what it leads to would go to the provider (SEC-4).
    """
    try:
        real = path.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()) or real.name not in NAMES:
            return b"", 0
        with real.open("rb") as file:
            return file.read(MOST_BYTES), real.stat().st_size
    except (OSError, RuntimeError):
        return b"", 0


def _cut(data: bytes, size: int) -> str:
    text = clean(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    if size <= MOST_BYTES:
        return text
    kept = text[: text.rfind("\n") + 1] or text
    return f"{kept}[cut here: the file has {size:,} bytes; fs-read shows the rest]"
