"""The search that runs where ripgrep is not installed, as a process of its own: a regular
expression that takes for ever can then be ended, and blocks nobody. Speaks the part of ripgrep's
JSON lines that `fs_search` reads. No other module imports this one.
"""

import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from nodwyn_tui.domain.request import Json
from nodwyn_tui.tools.ignoring import Walk


def main(arguments: list[str]) -> int:
    """Searches `[pattern, base, root, per_file]`: `base` is a folder or a file, `root` the
    workspace, `per_file` the most matching lines a file. Exit code 2 for a wrong pattern.
    """
    pattern, base, root, per_file = arguments
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        print(f"regex parse error: {error}")  # noqa: T201 - this is what the process is for
        return 2
    for shown, path in _files(Path(base), Path(root)):
        _search(wanted, shown, path, int(per_file))
    return 0


def _files(base: Path, root: Path) -> Iterator[tuple[str, Path]]:
    if not base.is_dir():
        yield base.name, base
        return
    for entry in Walk(base, root):
        if entry.is_file:
            yield entry.path, base / entry.path


def _search(wanted: re.Pattern[str], shown: str, path: Path, per_file: int) -> None:
    found = 0
    path_value = _text(os.fsencode(shown))
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                binary = b"\0" in raw
                line = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
                match = None if binary else wanted.search(_line(line))
                if match:
                    found += 1
                    start = len(match.string[: match.start()].encode("utf-8"))
                    data = {"path": path_value, "lines": _text(line), "line_number": number}
                    _tell("match", {**data, "submatches": [{"start": start}]})
                if binary or found == per_file:
                    break
            else:
                binary = False
    except OSError:
        return
    if found:
        _tell("end", {"path": path_value, "binary_offset": 0 if binary else None})


def _line(raw: bytes) -> str:
    return raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8", "replace")


def _text(raw: bytes) -> Json:
    try:
        return {"text": raw.decode("utf-8")}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(raw).decode("ascii")}


def _tell(kind: str, data: Json) -> None:
    print(json.dumps({"type": kind, "data": data}), flush=kind == "end")  # noqa: T201 - as above


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
