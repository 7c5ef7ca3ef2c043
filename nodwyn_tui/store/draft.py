"""What the person is typing, and what they typed before, a workspace each: kept over a crash, and
never part of a session.
"""

import functools
import itertools
import json
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from nodwyn_tui.domain.canonical import clean, plain
from nodwyn_tui.domain.events import QueuedImage
from nodwyn_tui.store.lock import turn
from nodwyn_tui.store.places import prompt_folder
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.atomic import disk_error, make_private_dir, write_whole

HISTORY = 500
"""How many prompts are remembered at most."""
HISTORY_SIZE = 1 << 20
"""How many characters they may have together."""


class Draft:
    """The prompt of a workspace: its draft, and its history without credentials."""

    def __init__(self, workspace: Path, state: Path, redactor: Redactor) -> None:
        self._folder = prompt_folder(workspace, state)
        self._redactor = redactor

    def read(self) -> str:
        """The draft; '' where there is none. Raises `StoreError`."""
        return self._bytes("draft.txt").decode("utf-8", "replace")

    def save(self, text: str) -> None:
        """Keeps the draft until it is sent or saved anew. Raises `StoreError`."""
        make_private_dir(self._folder)
        write_whole(self._folder / "draft.txt", clean(text).encode(), 0o600)

    def images(self) -> tuple[QueuedImage, ...]:
        """The draft's images; none where there is none, or nobody can tell. Raises `StoreError`."""
        data = self._bytes("images.json")
        try:
            return _adapter().validate_json(data) if data else ()
        except ValidationError:
            return ()

    def save_images(self, images: Sequence[QueuedImage]) -> None:
        """Keeps which images stand in the draft. Raises `StoreError`."""
        data = json.dumps(plain(tuple(images))).encode() if images else b""
        if data != self._bytes("images.json"):
            make_private_dir(self._folder)
            write_whole(self._folder / "images.json", data, 0o600)

    def sent(self, text: str) -> None:
        """Forgets the draft, and remembers what was sent. Raises `StoreError`."""
        self.save("")
        self.save_images(())
        with turn(self._folder / "history.lock"):
            history = self.history()
            prompt = self._redactor.text(clean(text))
            if prompt not in history[-1:]:
                lines = _lines((*history, prompt)[-HISTORY:])
                write_whole(self._folder / "history.jsonl", lines, 0o600)

    def history(self) -> tuple[str, ...]:
        """What was sent in this workspace, the latest last. Raises `StoreError`."""
        return tuple(filter(None, map(_prompt, self._bytes("history.jsonl").split(b"\n"))))

    def _bytes(self, name: str) -> bytes:
        path = self._folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise disk_error("read", path, error) from error


def _lines(prompts: Sequence[str]) -> bytes:
    sizes = itertools.accumulate(map(len, reversed(prompts)))
    fitting = sum(1 for _ in itertools.takewhile(lambda size: size <= HISTORY_SIZE, sizes))
    kept = prompts[len(prompts) - fitting :]
    return "".join(json.dumps(prompt, ensure_ascii=False) + "\n" for prompt in kept).encode()


def _prompt(line: bytes) -> str:
    try:
        prompt = json.loads(line)
    except ValueError:
        return ""
    return clean(prompt) if isinstance(prompt, str) else ""


@functools.cache
def _adapter() -> TypeAdapter[tuple[QueuedImage, ...]]:
    return TypeAdapter(tuple[QueuedImage, ...])
