"""The tools of a session, and the ports they work through, filled from the other rooms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nodwyn_tui.agent.attachments import Attachments
from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.history import LogHistory
from nodwyn_tui.domain import events as ev
from nodwyn_tui.tools.base import Artifacts, Context, Memory, Skills, Tool
from nodwyn_tui.tools.shell import Shell

PLAN_MARKS = {"todo": "[ ]", "doing": "[>]", "done": "[x]"}


class Toolbox:
    """The tools by name, in catalogue order. `originals` holds calls' arguments as the model wrote
    them, before the log's redaction: tools run on these (ENG-6). `key` gives what the cursors of
    `session_history` are sealed with.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - each is a port of its own
        self,
        tools: Sequence[Tool[Any]],
        conversation: Conversation,
        files: "WorkspaceFiles",
        artifacts: Artifacts,
        memory: Memory,
        skills: Skills,
        key: Callable[[], bytes],
    ) -> None:
        self.tools = {tool.spec.name: tool for tool in tools}
        self.originals: dict[str, str] = {}
        self._conversation, self._files = conversation, files
        self._artifacts, self._memory, self._skills = artifacts, memory, skills
        self.attachments: Attachments | None = None
        """Where images that tools give are kept; without it there are none."""
        self._history = LogHistory(conversation, key)

    async def close(self) -> None:
        """Ends what commands left running in the background."""
        for tool in self.tools.values():
            if isinstance(tool, Shell):
                await tool.close()

    def context(self, progress: Callable[[str], None]) -> Context:
        """What one call works with."""
        return Context(
            files=self._files,
            history=self._history,
            artifacts=self._artifacts,
            plan=RecordedPlan(self._conversation),
            memory=self._memory,
            skills=self._skills,
            progress=progress,
            pictures=self.attachments.for_tools() if self.attachments else None,
        )

    def confirmed(self, images: Sequence[ev.ImageRef]) -> list[ev.AttachConfirm]:
        """What lets images that a tool gave go where the model is that asked for them (IMG-8)."""
        host = self.attachments.host if self.attachments else ""
        return [ev.AttachConfirm(sha256=image.sha256, host=host) for image in images]


@dataclass(slots=True)
class WorkspaceFiles:
    """The workspace, and what the model has seen of its files in this process since the last reset:
    of a window that was left it sees nothing (ROL-8).
    """

    root: Path
    extra: Sequence[Path]
    conversation: Conversation
    known: dict[Path, str] = field(default_factory=dict)
    reset: int = 0

    @property
    def read_budget(self) -> int:
        """What a ranged read may give: the cap of a file read, so that the window never cuts it."""
        return 2 * self.conversation.recipe.window.max_result_tokens

    def seen(self, path: Path, digest: str) -> None:
        self._forget()
        self.known[path] = digest

    def last_seen(self, path: Path) -> str | None:
        self._forget()
        return self.known.get(path)

    def _forget(self) -> None:
        if self.reset != self.conversation.reset_at:
            self.reset = self.conversation.reset_at
            self.known.clear()

    def markers(self) -> bool:
        return self.conversation.markers


class RecordedPlan:
    """The plan goes into the log, and from there into the window (ENG-19)."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation

    def write(self, items: Sequence[ev.PlanItem]) -> None:
        text = "\n".join(f"{PLAN_MARKS[item.state]} {item.text}" for item in items)
        self._conversation.append(ev.GatePlan(text=text or "(empty)", items=tuple(items)))
