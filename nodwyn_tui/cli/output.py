"""What the command line prints: data in UTF-8 whatever the locale, text for eyes inert and in the
locale's own letters. Nothing else here writes to standard output or standard error.
"""

import json
import re
import sys
import warnings
from typing import TextIO

from nodwyn_tui.errors import StoreError, UsageError

_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What acts on a terminal, or turns the writing direction. Joiners within words stay."""

_LONGEST_SECRET = 64 * 1024


def inert(text: str) -> str:
    """`text` without what would act on a terminal (SEC-3)."""
    return _ACTS.sub("\N{REPLACEMENT CHARACTER}", text)


def show(text: str) -> None:
    """A text and a line end on standard output, for eyes. Raises as `data`."""
    _write(sys.stdout, _for_eyes(sys.stdout, f"{inert(text)}\n"))


def data(content: bytes) -> None:
    """Bytes on standard output, at once; a closed one takes nothing.

    Raises `StoreError` if they can't be written, `BrokenPipeError` if the reader has left.
    """
    _write(sys.stdout, content)


def json_line(value: object) -> None:
    """A JSON value and a line end on standard output, as `data`."""
    data(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


def tell(text: str) -> None:
    """A remark and a line end on standard error; lost where nobody can read it."""
    try:
        _write(sys.stderr, _for_eyes(sys.stderr, f"{inert(text)}\n"))
    except (StoreError, BrokenPipeError):
        sys.stderr = None


def confirmed(question: str) -> bool:
    """Asks the person; no where nobody can answer."""
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    tell(f"{question} [y/N]")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def secret(question: str) -> str:
    """What a person types without its being shown, or all of standard input. `UsageError` where the
    terminal would show it.
    """
    import getpass

    if sys.stdin is None:
        raise UsageError("standard input is closed; nobody can be asked")
    if not sys.stdin.isatty():
        return sys.stdin.read(_LONGEST_SECRET)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(question)
    except getpass.GetPassWarning as error:
        raise UsageError(
            "this terminal would show what is typed; give it as standard input"
        ) from error
    except EOFError:
        return ""


def reader_left() -> None:
    """Nothing more is written to standard output, not even what was held back for it."""
    sys.stdout = None


def _for_eyes(stream: TextIO | None, text: str) -> bytes:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, "replace")


def _write(stream: TextIO | None, content: bytes) -> None:
    if stream is None:  # closed by whoever started this program
        return
    try:
        stream.flush()
        stream.buffer.write(content)
        stream.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        name = "standard output" if stream is sys.stdout else "standard error"
        if stream is sys.stdout:
            reader_left()
        raise StoreError(f"cannot write {name}: {error.strerror or error}") from error
