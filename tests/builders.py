"""Little logs in few lines: a recipe, and a builder that numbers events as the log does."""

import dataclasses
from typing import Any, Literal, TypeVar

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import message_value
from nodwyn_tui.domain.parts import Call, ReplyPart, Text, Thinking
from nodwyn_tui.domain.recipe import Recipe, WindowLimits
from nodwyn_tui.domain.request import ToolSpec
from nodwyn_tui.window import handover, lead_in
from nodwyn_tui.window.budget import Budget, Reason, RollOver
from nodwyn_tui.window.build import ORDINARY, Shape, Window, build
from nodwyn_tui.window.carrying import Carrying
from nodwyn_tui.window.summaries import source_digest

TOOLS = (
    ToolSpec(
        "fs-read", "Reads a file.", {"type": "object", "properties": {"path": {"type": "string"}}}
    ),
    ToolSpec(
        "shell",
        "Runs a command.",
        {"type": "object", "properties": {"command": {"type": "string"}}},
    ),
)
MODEL = ev.ModelRef(name="m", server="s", provider="openai", id="m-1", origin="s/m-1")

AnyEvent = TypeVar("AnyEvent", bound=ev.Event)


def recipe(**changes: Any) -> Recipe:
    """A small window: high water 2,000, low water 1,000, results cut at 400 tokens."""
    limits = {
        "high_water": 2_000,
        "low_water": 1_000,
        "ceiling": 3_000,
        "max_result_tokens": 400,
        "output_reserve": 500,
    }
    limits |= {
        key: changes.pop(key) for key in list(changes) if key in limits or key == "protected"
    }
    fields: dict[str, Any] = {
        "version": 20,
        "system": "You help.",
        "tools": TOOLS,
        "window": WindowLimits(**limits),
        "num_ctx": 3_500,
        "max_output": 500,
        "keep_reasoning": True,
    }
    return Recipe(**(fields | changes))


class LogBuilder:
    """Appends events with the seqs, runs and requests a session would give them."""

    def __init__(self, **changes: Any) -> None:
        self.events: list[ev.Event] = []
        self.recipe = recipe(**changes)
        self.run = 0
        self.ctx = 0
        self.carrying, self.budget = Carrying(), Budget()
        self.add(ev.SessionStart(session="s", workspace="/w", app="t", recipe=self.recipe))

    def add(self, draft: AnyEvent) -> AnyEvent:
        if isinstance(draft, ev.UserMessage) and draft.via in ("prompt", "continue"):
            self.run += 1
        event = dataclasses.replace(
            draft,
            seq=len(self.events) + 1,
            at="2026-01-01",
            run=self.run,
            ctx=draft.ctx or self.ctx,
        )
        self.events.append(event)
        self.carrying.feed(event)
        self.budget.feed(event)
        return event

    def image(self, sha256: str = "ab", tokens: int = 100) -> ev.AttachImage:
        return self.add(
            ev.AttachImage(
                sha256=sha256, name="shot.png", mime="image/png", bytes=9, width=10, height=20,
                tokens=tokens, host="h", line="[image shot.png, data]",
            )
        )  # fmt: skip

    def fold(self, target: int, text: str = "folded", why: str = "stale") -> ev.ResultFold:
        return self.add(ev.ResultFold(target=target, text=text, why=why))

    def compact(self, note: str = "so far") -> ev.ContextOpen:
        """A lasting context that begins with a handover note; the conversation goes on in it."""
        opened = self.add(
            ev.ContextOpen(
                id=len(self.events) + 1, parent=self.ctx, kind="compaction", lasting=True
            )
        )
        self.ctx = opened.id
        self.add(ev.Note(text=note, audience="model", why="handover"))
        return opened

    def hand_over(self, note: str = "so far") -> ev.ContextOpen:
        """The batch of a compaction, as a session appends it, with all that it takes along."""
        carried, first = self.carrying.now, len(self.events) + 1
        rows = handover.batch(
            handover.Handover(note, source=first - 1), carried, self.recipe, ctx=first,
            parent=self.ctx,
        )  # fmt: skip
        opened, *_ = [self.add(row) for row in rows]
        assert isinstance(opened, ev.ContextOpen)
        self.ctx = opened.id
        return opened

    def rollover(
        self, *trigger: ev.Event, reason: Reason = "mid-run", notes: str = ""
    ) -> tuple[ev.Event, ...]:
        """The drafts of a rollover, as a session would append them now, whatever it decides."""
        over = RollOver(
            reason=reason,
            rollover_id=self.budget.rollover_id,
            window=self.budget.window,
            tokens=2_300,
            ceiling=3_000,
            flushed=False,
            too_small=False,
        )
        rows = trigger or (lead_in.CONTINUE,)
        return lead_in.batch(over, self.carrying.now, self.recipe, rows, notes)

    def roll_over(self, *trigger: ev.Event, reason: Reason = "mid-run", notes: str = "") -> None:
        """The window is left for a new one."""
        drafts = self.rollover(*trigger, reason=reason, notes=notes)
        assert self.budget.fault(drafts) == ""
        for draft in drafts:
            self.add(draft)

    def widen(self, opened: ev.ContextOpen) -> None:
        """Closes a lasting context again."""
        self.add(ev.ContextClose(id=opened.id))
        self.ctx = opened.parent

    def resume(self, **changes: Any) -> None:
        """The session is opened again; `changes` make its recipe another."""
        self.recipe = recipe(**changes) if changes else self.recipe
        self.add(ev.SessionResume(session="s", workspace="/w", app="t", recipe=self.recipe))

    def switch(self, **changes: Any) -> None:
        """The recipe becomes another in mid-session."""
        self.recipe = recipe(**changes)
        self.add(ev.SessionRecipe(session="s", workspace="/w", app="t", recipe=self.recipe))

    def edit(self, target: int, action: Literal["drop", "restore"]) -> ev.WindowEdit:
        return self.add(ev.WindowEdit(target=target, action=action))

    def rewind(self, to: int, why: Literal["undo", "edit"] = "edit") -> ev.WindowRewind:
        return self.add(ev.WindowRewind(to=to, why=why))

    def clear(self) -> ev.WindowReset:
        return self.add(ev.WindowReset(kind="manual", reason="clear"))

    def summary(self, first: int, last: int, text: str = "in short") -> ev.SummaryAdd:
        digest = source_digest(self.events, first, last)
        return self.add(ev.SummaryAdd(first=first, last=last, text=text, source_digest=digest))

    def user(self, text: str = "do it", **fields: Any) -> ev.UserMessage:
        return self.add(ev.UserMessage(text=text, **fields))

    def request(
        self, shape: Shape = ORDINARY, purpose: ev.Purpose = "turn"
    ) -> tuple[ev.LlmRequest, Window]:
        """Builds the window and records its request."""
        window = build(self.events, self.recipe, shape)
        event = self.add(
            ev.LlmRequest(
                purpose=purpose,
                model=MODEL,
                parameters=ev.Parameters(),
                digest=window.digest,
                estimate=window.estimate,
                elided=window.newly,
                high_water=shape.high_water,
                no_tools=shape.no_tools,
                withheld_images=tuple(
                    ev.WithheldImage(sha256=digest, reason=why)
                    for digest, why in shape.withheld.items()
                ),
                offered_tools=shape.offered_tools,
                fresh=shape.fresh,
            )
        )
        return event, window

    def reply(
        self, *parts: ReplyPart | str, finish: str | None = None, req: int | None = None
    ) -> ev.LlmResponse:
        made = tuple(Text(part) if isinstance(part, str) else part for part in parts)
        calls = [part for part in made if isinstance(part, Call)]
        said = finish or ("calls" if calls else "stop")
        asked = len(self.events) if req is None else req
        response = self.add(ev.LlmResponse(req=asked, parts=made, finish=said))
        for call in calls:
            self.add(
                ev.ToolCall(
                    resp=response.seq, call_id=call.id, name=call.name, arguments=call.arguments
                )
            )
        return response

    def result(self, call_id: str, text: str = "done", **fields: Any) -> ev.ToolResult:
        name = fields.pop("name", "shell")
        return self.add(ev.ToolResult(call_id=call_id, name=name, text=text, **fields))

    def exchange(self, call_id: str, text: str, name: str = "shell", arguments: str = "{}") -> None:
        """A request, a reply with one call, and its result."""
        self.request()
        self.reply(Call(call_id, name, arguments))
        self.result(call_id, text, name=name)

    def window(self, shape: Shape = ORDINARY) -> Window:
        return build(self.events, self.recipe, shape)


def thinking(text: str) -> Thinking:
    return Thinking(text)


def texts(window: Window) -> list[str]:
    """Each message as `role: text`; a call as `name(id)`, an image by its digest."""

    def part(value: dict[str, Any]) -> str:
        match value["type"]:
            case "call":
                return f"{value['name']}({value['id']})"
            case "image":
                return f"<{value['sha256']}>"
            case "block":
                return f"<{value['data']}>"
            case _:
                return str(value["text"])

    return [
        f"{row.role}: " + " ".join(part(value) for value in message_value(row)["parts"])
        for row in window.request.messages
    ]
