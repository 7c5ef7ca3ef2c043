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
        try:
            data = path.read_bytes() if path.is_file() else b""
        except OSError:
            continue
        if text := _cut(data).strip():
            where = f"{shown}/{name}" if shown else name
            yield f'<instructions file="{where}">\n{text}\n</instructions>'
            return


def _cut(data: bytes) -> str:
    text = clean(data[:MOST_BYTES].decode("utf-8", "replace").removeprefix("\ufeff"))
    if len(data) <= MOST_BYTES:
        return text
    kept = text[: text.rfind("\n") + 1] or text
    return f"{kept}[cut here: the file has {len(data):,} bytes; fs-read shows the rest]"
