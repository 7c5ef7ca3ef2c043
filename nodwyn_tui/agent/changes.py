"""How many files of the workspace's repository differ from its last commit: counted by git beside
everything else. Nobody waits for it, and nothing that a repository says of itself is run.
"""

import asyncio
import contextlib
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from nodwyn_tui.agent.branch import common_folder, git_folder, root_of
from nodwyn_tui.system import processes
from nodwyn_tui.system.clock import Clock

PATIENCE_S = 3.0
"""Seconds after which a count is given up; what was known before stands."""
RARELY = 20
"""A count that took a second is not made again for this many."""
SOONEST_S = 1.0
MOST = 1_000
"""Files that are counted; beyond it, there are just more."""

_LARGEST = 256 * 1024
_RUNS = re.compile(rb"\[\s*(?:filter|include)|worktreeconfig", re.IGNORECASE)
"""What of a repository's settings can have git run programs for a status, or bring such: filters of
contents, and other files of settings. Hooks, monitors and transports are switched off below."""

_SAFELY = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_TERMINAL_PROMPT": "0",
}
_STATUS = (
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.useBuiltinFSMonitor=false", "--no-pager", "--no-optional-locks"),
    *("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal"),
    *("--ignore-submodules=all", "--", "."),
)


class Changes:
    """One workspace's count, as it was known last: `None` where there is no repository, no git, or
    a repository whose settings would run something. `counted` is how often it was made.
    """

    def __init__(
        self, workspace: Path, environment: Callable[[], Mapping[str, str]], clock: Clock
    ) -> None:
        self._workspace, self._environment, self._clock = workspace, environment, clock
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0
        self.count: int | None = None
        self.counted = 0

    def look(self) -> None:
        """Has it counted again, unless that goes on, or was just done."""
        going = self._task is not None and not self._task.done()
        if not going and self._clock.monotonic() >= self._not_before:
            self._task = asyncio.create_task(self._look())

    async def settled(self) -> None:
        """Waits for a count that goes on."""
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)

    async def close(self) -> None:
        """Ends a count that goes on."""
        if self._task is not None:
            self._task.cancel()
        await self.settled()

    async def _look(self) -> None:
        began = self._clock.monotonic()
        git = await asyncio.to_thread(_harmless, self._workspace)
        program = _program(self._environment().get("PATH", os.defpath), root_of(self._workspace))
        if git is None or not program:
            self.count, self._not_before = None, began + PATIENCE_S
            return
        self.counted += 1
        with contextlib.suppress(processes.CannotStart, TimeoutError):
            found = await self._count(program, git)
            self.count = self.count if found is None else found
        now = self._clock.monotonic()
        self._not_before = now + max((now - began) * RARELY, SOONEST_S)

    async def _count(self, program: str, git: Path) -> int | None:
        """What git says; `None` where it says nothing that counts."""
        where = (f"--git-dir={git}", f"--work-tree={root_of(self._workspace)}")
        own = {k: v for k, v in self._environment().items() if not k.startswith("GIT_")}
        process = await processes.start(
            (program, *where, *_STATUS),
            folder=self._workspace,
            environment={**own, **_SAFELY},
            errors="dropped",
        )
        count = 0
        try:
            async with asyncio.timeout(PATIENCE_S):
                while piece := await process.read():
                    count += piece.count(b"\0")
                    if count > MOST:
                        return count
                return count if await process.wait() == 0 else None
        finally:
            await process.end(grace_s=0)
            process.close()


def _harmless(workspace: Path) -> Path | None:
    """The workspace's repository, if a status of it runs nothing that it names."""
    git = git_folder(workspace)
    file = common_folder(git) / "config"
    try:
        if not file.is_file():  # a pipe would be waited for without end
            return None
        with file.open("rb") as stream:
            settings = stream.read(_LARGEST + 1)
    except OSError:
        return None
    return None if len(settings) > _LARGEST or _RUNS.search(settings) else git


def _program(path: str, workspace: Path) -> str:
    """Where git is; '' if nowhere, or where the workspace brings its own."""
    absolute = (each for each in path.split(os.pathsep) if Path(each).is_absolute())
    program = shutil.which("git", path=os.pathsep.join(absolute)) or ""
    inside = program and Path(program).resolve().is_relative_to(workspace.resolve())
    return "" if inside else program
