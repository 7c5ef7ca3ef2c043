"""`fs-glob`: the files whose paths a glob names, sorted by path."""

import asyncio
import os
from pathlib import Path

from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome
from nodwyn_tui.tools.fs_list import NAMES_ARE_DATA, folder_at
from nodwyn_tui.tools.fs_read import look
from nodwyn_tui.tools.globs import compiled
from nodwyn_tui.tools.ignoring import MOST_ENTRIES, Walk
from nodwyn_tui.tools.names import quoted
from nodwyn_tui.tools.paths import locate

MOST_SHOWN = 200


class GlobArguments(Model):
    """`path` is the folder to look in, the workspace by default."""

    pattern: str
    path: str | None = None


class FsGlob:
    """`text` is one path a line, relative to the workspace, then a line with the count."""

    effect: Effect = "read"
    arguments = GlobArguments

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self.spec = spec_of(
            "fs-glob",
            "Find files by glob (src/**/*.py; without a / the name in any folder), without ignored"
            " files.",
            GlobArguments,
        )

    async def describe(self, arguments: GlobArguments, context: Context) -> Ask:
        compiled(arguments.pattern)
        path = arguments.path or "."
        place = await asyncio.to_thread(locate, context.files, self._home, path)
        return look(f"Find {quoted(arguments.pattern)} in", place)

    async def run(self, arguments: GlobArguments, context: Context) -> Outcome:
        return await asyncio.to_thread(self._find, arguments, context)

    def _find(self, arguments: GlobArguments, context: Context) -> Outcome:
        pattern = compiled(arguments.pattern)
        place = locate(context.files, self._home, arguments.path or ".")
        folder_at(place, context)
        walk = Walk(place.path, Path(os.path.realpath(context.files.root)))
        prefix = "" if place.relative == "." else place.relative + "/"
        shown, count = [], 0
        for entry in walk:
            if not entry.is_folder and pattern.fullmatch(entry.path):
                count += 1
                if count <= MOST_SHOWN:
                    shown.append(quoted(prefix + entry.path))
        last = f"[{count:,} file{'s' * (count != 1)}; {NAMES_ARE_DATA}"
        if count > MOST_SHOWN:
            last += f"; the first {MOST_SHOWN} are shown: use a narrower glob or a path"
        if walk.cut:
            last += f"; the search ended after {MOST_ENTRIES:,} entries: give a path"
        return Outcome(text="\n".join([*shown, last + "]"]), lines=len(shown) + 1)
