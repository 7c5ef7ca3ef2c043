"""The output of a command while it comes, in bounded memory: whole up to 1 MiB, else head and tail
here and all of it in an artifact (AGT-7, C52).
"""

from collections import deque
from pathlib import Path
from typing import BinaryIO

from nodwyn_tui.tools.output import Cleaner, never_blank

LARGEST_WHOLE = 1024 * 1024
"""Bytes of clean text that are kept here."""

HEAD = TAIL = 32 * 1024
"""Characters kept of what is larger."""

LARGEST_ARTIFACT = 64 * 1024 * 1024
"""Bytes of clean text that an artifact takes; what comes after is counted only."""


class Capture:
    """Not for two threads at a time. `size` counts the bytes as they came, `lines` the lines of the
    clean text.
    """

    def __init__(self) -> None:
        self.size = 0
        self.lines = 0
        self.artifact: str | None = None
        self.trouble = ""
        self._cleaner = Cleaner()
        self._whole: list[str] | None = []
        self._kept = 0
        self._head = ""
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._written = 0
        self._file: BinaryIO | None = None
        self._last = ""
        self._open_line = False

    @property
    def overflows(self) -> bool:
        """Whether the text is too large to be kept here, and no artifact was given for it yet."""
        return self._kept > LARGEST_WHOLE and self._whole is not None

    @property
    def last_line(self) -> str:
        """The line that was written last, for the eye."""
        return self._cleaner.line or self._last

    def feed(self, data: bytes) -> None:
        """Takes the next piece."""
        self.size += len(data)
        self._take(self._cleaner.feed(data))

    def spill(self, name: str, path: Path) -> None:
        """Moves the text into the file at `path`, the artifact `name`, and goes on there."""
        try:
            self._file = path.open("wb")
        except OSError as error:
            self._fail(error)
        else:
            self.artifact = name
        self.shrink()

    def shrink(self) -> None:
        """Keeps head and tail only, what is between goes to the artifact if there is one."""
        whole, self._whole = "".join(self._whole or []), None
        self._head = whole[:HEAD]
        self._write(whole[:HEAD])
        self._keep_tail(whole[HEAD:])

    def finish(self) -> None:
        """Takes what was held back, and closes the artifact."""
        rest = self._cleaner.finish()
        self._take(rest)
        self.lines += self._open_line
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self._fail(error)
            self._file = None

    def text(self) -> str:
        """What is kept; a line stands for what was left out of the middle."""
        if self._whole is not None:
            return never_blank("".join(self._whole).removesuffix("\n"))
        tail = "".join(self._tail)
        over = len(tail) - TAIL
        if over > 0:
            cut = tail.find("\n", over)
            tail = tail[cut + 1 :] if 0 <= cut < len(tail) - 1 else tail[over:]
        line_end = self._head.rfind("\n")
        head = self._head[: line_end + 1] if line_end >= 0 else self._head + "\n"
        return f"{head}[{self._left_out()}]\n{tail}".removesuffix("\n")

    def _left_out(self) -> str:
        text = f"the middle is left out; in all {self.lines:,} lines, {self.size:,} bytes"
        if self.artifact:
            whole = self._written < LARGEST_ARTIFACT
            kept = "all" if whole else f"the first {LARGEST_ARTIFACT // 1024 // 1024} MiB"
            text += f", {kept} kept for the person as {self.artifact}"
        if self.trouble:
            text += f", not kept elsewhere: {self.trouble}"
        return text + "; run it again with a filter (grep, tail) to see more"

    def _take(self, text: str) -> None:
        if not text:
            return
        count = text.count("\n")
        self.lines += count
        self._open_line = not text.endswith("\n")
        if count:
            self._last = text[-4096:].rstrip("\n").rsplit("\n", 1)[-1] or self._last
        if self._whole is None:
            self._keep_tail(text)
            return
        self._whole.append(text)
        self._kept += len(text.encode("utf-8"))

    def _keep_tail(self, text: str) -> None:
        self._write(text)
        self._tail.append(text[-TAIL:])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) >= TAIL:
            self._tail_size -= len(self._tail.popleft())

    def _write(self, text: str) -> None:
        if self._file is None or self._written >= LARGEST_ARTIFACT:
            return
        data = text.encode("utf-8")[: LARGEST_ARTIFACT - self._written]
        self._written += len(data)
        try:
            self._file.write(data)
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.trouble = error.strerror or str(error)
        self.artifact = self._file = None
