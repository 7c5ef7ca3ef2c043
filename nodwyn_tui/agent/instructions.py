"""Standing instructions for assistants: `AGENTS.md` of the person and of the workspace (ORD-11).

Read once, at the session's start, into the system prompt; a later change would cost the whole
prompt cache, so it waits for the next session.
"""

from collections.abc import Iterator
from pathlib import Path

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.window.entries import BYTES_PER_TOKEN

NAMES = ("AGENTS.md", "CLAUDE.md")
"""Of one folder, the first that is there."""

MOST_BYTES = 12_000
"""Of one file; the rest is left out at a line's end, and said to be."""

SHARE = 8
"""No file takes more than this part of a small model's context."""

_END = "</instructions"


def with_instructions(system: str, person: Path, workspace: Path, context: int) -> str:
    """The system prompt with what the person's config folder and the workspace say, in this order,
    each framed with its path. `context` is the model's, in tokens.
    """
    most = min(MOST_BYTES, context * BYTES_PER_TOKEN // SHARE)
    own = _found(person, str(person), most, None)
    return "\n\n".join([system, *own, *_found(workspace, "", most, workspace)])


def _found(folder: Path, shown: str, most: int, inside: Path | None) -> Iterator[str]:
    for name in NAMES:
        path = folder / name
        if not path.is_file():
            continue
        data, size = _read(path, most, inside)
        if text := _cut(data, size).strip():
            where = f"{shown}/{name}" if shown else name
            framed = text.replace(_END, "<\\/instructions")  # its own end is the only one
            yield f'<instructions file="{where}">\n{framed}\n</instructions>'
            return


def _read(path: Path, most: int, inside: Path | None) -> tuple[bytes, int]:
    """The file's beginning and size. With `inside`, nothing of a link that leads out of there or to
    a file of another name: a repository may bring one along, and what it leads to would go to the
    provider (SEC-4). The person's own links are theirs.
    """
    try:
        real = path.resolve(strict=True)
        if inside and not (real.is_relative_to(inside.resolve()) and real.name in NAMES):
            return b"", 0
        with real.open("rb") as file:
            return file.read(most), real.stat().st_size
    except (OSError, RuntimeError):
        return b"", 0


def _cut(data: bytes, size: int) -> str:
    text = clean(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    if size <= len(data):
        return text
    kept = text[: text.rfind("\n") + 1] or text
    return f"{kept}[cut here: the file has {size:,} bytes; fs-read shows the rest]"
