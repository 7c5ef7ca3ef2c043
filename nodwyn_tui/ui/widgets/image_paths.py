"""Completing the path of an image: folders and images, listed in a thread, each folder once while a
path is being typed.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from itertools import islice
from pathlib import Path

from nodwyn_tui.ui.widgets.completing import Completion
from nodwyn_tui.ui.widgets.dropped import is_image_name
from nodwyn_tui.ui.widgets.visible import one_line

_MOST_ENTRIES = 5_000
_MOST_OFFERED = 50


class ImagePaths:
    """`start` runs what lists a folder; `again` is called once there is more to offer."""

    def __init__(
        self, start: Callable[[Coroutine[object, object, None]], object], again: Callable[[], None]
    ) -> None:
        self._start, self._again = start, again
        self._listed: dict[str, list[str]] = {}
        """Names by folder, those of folders with a slash; none while it is being listed."""

    def forget(self) -> None:
        """No path is being typed: what is on the disk may be other by the next time."""
        self._listed.clear()

    def completions(self, head: str, typed: str, workspace: str) -> list[Completion]:
        """What a path that is being typed could become, `head` before each."""
        folder, slash, begun = typed.rpartition("/")
        place = os.path.join(workspace, os.path.expanduser(folder + slash))  # noqa: PTH111, PTH118 - text alone; pathlib would drop the slash
        if place not in self._listed:
            self._listed[place] = []
            self._start(self._list(place))
        low = begun.lower()
        names = [name for name in self._listed[place] if name.lower().startswith(low)]
        names.sort(key=lambda name: (name != begun, name.startswith("."), name.lower()))
        return [
            Completion(
                f"{head}{folder}{slash}{name}",
                "folder" if name.endswith("/") else "image",
                goes_on=name.endswith("/"),
            )
            for name in names[:_MOST_OFFERED]
        ]

    async def _list(self, place: str) -> None:
        self._listed[place] = await asyncio.to_thread(_names, place)
        self._again()


def _names(place: str) -> list[str]:
    """The folders and images in a folder; none where it can't be read. What can't be typed as it
    is, is left out.
    """
    try:
        with os.scandir(Path(place)) as entries:
            return [
                f"{entry.name}/" if entry.is_dir() else entry.name
                for entry in islice(entries, _MOST_ENTRIES)
                if one_line(entry.name) == entry.name
                and (entry.is_dir() or is_image_name(entry.name))
            ]
    except (OSError, ValueError):
        return []
