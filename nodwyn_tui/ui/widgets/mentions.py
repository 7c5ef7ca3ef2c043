"""Files that are named in a message: `@` and some letters of a path, completed from what the worker
finds (TUI-7). An image that is chosen is attached in its place (IMG-1).
"""

import re
from collections.abc import Callable

from nodwyn_tui.link.events import FilesFound
from nodwyn_tui.ui.widgets.completing import Completion
from nodwyn_tui.ui.widgets.dropped import is_image_name
from nodwyn_tui.ui.widgets.visible import one_line

_MENTION = re.compile(r"(?:^|(?<=[\s(\[{,;]))@([^\s@]*)$")
_SPACED = re.compile(r"\s")


def mention(head: str) -> str | None:
    """The letters behind an `@` that text up to the cursor ends with; `None` where it does not."""
    found = _MENTION.search(head[-400:])
    return found[1] if found else None


class Mentions:
    """What is offered for a mention; `ask` has the worker look for files."""

    def __init__(self, ask: Callable[[str], None], again: Callable[[], None]) -> None:
        self._ask, self._again = ask, again
        self._asked: str | None = None
        self._found = FilesFound(query="", paths=())

    def forget(self) -> None:
        """No mention is being typed: what lies in the folders may be other by the next time."""
        self._asked, self._found = None, FilesFound(query="", paths=())

    def found(self, event: FilesFound) -> None:
        """The worker's answer; one to an earlier question is passed over."""
        if event.query == self._asked:
            self._found = event
            self._again()

    def completions(self, query: str) -> list[Completion]:
        """What a mention could become; until the answer comes, what fitted the letters before."""
        if query != self._asked:
            self._asked = query
            self._ask(query)
        if query in self._found.paths:
            return []
        return [_completion(path, query) for path in self._found.paths if one_line(path) == path]


def _completion(path: str, query: str) -> Completion:
    image = is_image_name(path)
    return Completion(
        f'@"{path}" ' if _SPACED.search(path) else f"@{path} ",
        "image, to attach" if image else "",
        label=path,
        replaces=len(query) + 1,
        attaches=path if image else "",
    )
