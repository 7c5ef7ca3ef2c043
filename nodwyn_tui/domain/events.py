"""The lines of the session log: one frozen record a kind.

A record made by a caller is a draft (`seq` 0, `at` ''); the log gives it its place and time. Fields
are those of the published log format; a field this build does not know is kept in `extra`.
`req`, `resp`, `target`, `elided`, `fresh`, `to`, `first`, `last` are seqs or tuples of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from nodwyn_tui.domain import words
from nodwyn_tui.domain.deltas import Finish
from nodwyn_tui.domain.parts import ReplyPart
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import Json
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.errors import ErrorKind

Purpose = Literal["turn", "handover", "subagent", "test"]
Decision = Literal["allowed", "refused"]
Scope = Literal["once", "session", "always", "mode"]
Mode = words.Mode
Keeper = words.Keeper
RunEndWhy = words.RunEndWhy
PlanState = Literal["todo", "doing", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every line has. `at` is UTC, ISO 8601 with milliseconds and `Z`; `ctx` 0 is the
    conversation; `run` counts the person's messages from 1; `batch` stands on the first event of
    a batch and says how many events it has.
    """

    type: ClassVar[str] = ""
    seq: int = 0
    at: str = ""
    ctx: int = 0
    run: int = 0
    batch: int | None = field(default=None, metadata={"omit_none": True})
    extra: Mapping[str, Json] = field(default_factory=dict, metadata={"merge": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart(Event):
    """Seq 1 of every log."""

    type: ClassVar[str] = "session.start"
    session: str
    workspace: str
    app: str
    forked_from: str | None = None
    recipe: Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResume(Event):
    """A process opened the session again; its recipe holds from here."""

    type: ClassVar[str] = "session.resume"
    session: str
    workspace: str
    app: str
    forked_from: str | None = None
    recipe: Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecipe(Event):
    """The recipe changed in mid-session (another model, a setting)."""

    type: ClassVar[str] = "session.recipe"
    session: str
    workspace: str
    app: str
    forked_from: str | None = None
    recipe: Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecovered(Event):
    """Damage was set aside into `side_file`: `missing` seqs are lost, `bytes` were moved."""

    type: ClassVar[str] = "session.recovered"
    missing: tuple[int, ...] = ()
    bytes: int = 0
    side_file: str = "log.damaged"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTitle(Event):
    """The session's title, and why it changed."""

    type: ClassVar[str] = "session.title"
    title: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd(Event):
    """The session was closed in order."""

    type: ClassVar[str] = "session.end"
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note(Event):
    """A remark of the program; for the model it is a row of the window."""

    type: ClassVar[str] = "note"
    text: str
    audience: Literal["person", "model", "both"] = "person"
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserMessage(Event):
    """What the person said. Only `via` 'prompt' and 'continue' start a run; a rejected message
    is kept and stands in no window.
    """

    type: ClassVar[str] = "user.message"
    text: str
    via: Literal["prompt", "steer", "continue", "shell"] = "prompt"
    rejected: bool = False

    @property
    def starts_run(self) -> bool:
        """Whether a run of the conversation begins with it."""
        return self.via in ("prompt", "continue") and not self.rejected


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedImage:
    """An image of a message that waits: what its `attach.image` will say."""

    sha256: str
    name: str
    mime: str
    bytes: int
    width: int
    height: int
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UserQueued(Event):
    """A message typed while the assistant works, with its images, if it has any."""

    type: ClassVar[str] = "user.queued"
    text: str
    when: Literal["steer", "queue"] = "queue"
    dropped: bool = False
    images: tuple[QueuedImage, ...] | None = field(default=None, metadata={"omit_none": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachImage(Event):
    """An image joined the conversation, by digest."""

    type: ClassVar[str] = "attach.image"
    sha256: str
    name: str
    mime: str
    bytes: int
    width: int
    height: int
    tokens: int
    host: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachConfirm(Event):
    """The person allowed an image to go to a host."""

    type: ClassVar[str] = "attach.confirm"
    sha256: str
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """Which model a request went to. `origin` names who can read its opaque blocks back."""

    name: str
    server: str
    provider: str
    id: str
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """Whatever besides the request and the model decides the wire body. Stands outside the digest.

    `session_key` is the SHA-256 of the session id, hex; `think` is Ollama's field; `effort` the
    provider's word; `scopes` what a signed-in person's token was granted, `None` for an API key;
    `summary` how much a Responses model tells of its reasoning; `history` how many of its messages
    stand before fresh ones that are gone with the request, `None` where it has none, and `former`
    how many of these stood there in the request before.
    """

    num_ctx: int | None = None
    keep_alive: str | None = None
    think: bool | str | None = None
    effort: str | None = None
    dialect: str | None = None
    cache_control: str | None = None
    cache_key: str | None = None
    session_key: str | None = None
    cache_key_header: str | None = None
    keep_reasoning: bool | Literal["latest"] = False
    scopes: tuple[str, ...] | None = field(default=None, metadata={"omit_none": True})
    summary: str | None = field(default=None, metadata={"omit_none": True})
    history: int | None = field(default=None, metadata={"omit_none": True})
    former: int | None = field(default=None, metadata={"omit_none": True})

    def markers(self, ahead: int) -> tuple[int, int] | None:
        """The former history marker and this request's, with `ahead` more messages before them;
        `None` where they follow from the conversation alone.
        """
        if self.history is None:
            return None
        return self.former + ahead if self.former else 0, self.history + ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class WithheldImage:
    """An image that a request could not carry, and why."""

    sha256: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmRequest(Event):
    """Recorded before the request is sent (ENG-24)."""

    type: ClassVar[str] = "llm.req"
    purpose: Purpose = "turn"
    model: ModelRef
    parameters: Parameters
    digest: str
    estimate: int
    elided: tuple[int, ...] = ()
    high_water: int | None = None
    no_tools: bool = False
    offered_tools: tuple[str, ...] | None = None
    withheld_images: tuple[WithheldImage, ...] = ()
    fresh: tuple[int, ...] = ()
    predicted_cached: int | None = None
    prefix_ended_by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmResponse(Event):
    """A reply, whole or interrupted."""

    type: ClassVar[str] = "llm.resp"
    req: int
    parts: tuple[ReplyPart, ...]
    thinking_field: str | None = None
    finish: Finish
    usage: Usage = field(default_factory=Usage)
    first_token_ms: int | None = None
    ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmError(Event):
    """A request failed; `partial` is the text that had come, for the screen only, `detail` the
    answer as it came, cut to a few kB, where it says more than `message` (C34); `remedy` what the
    person can do, where it is not asked again.
    """

    type: ClassVar[str] = "llm.error"
    req: int
    kind: ErrorKind
    status: int | None = None
    message: str
    retry_in_s: float | None = None
    partial: str = ""
    detail: str | None = field(default=None, metadata={"omit_none": True})
    remedy: str | None = field(default=None, metadata={"omit_none": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall(Event):
    """One call of a reply, in one batch with it."""

    type: ClassVar[str] = "tool.call"
    resp: int
    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRef:
    """An image that a tool gave."""

    sha256: str
    mime: str
    width: int
    height: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult(Event):
    """The one result of a call; `artifact` names the file that holds an over-long one whole,
    `lines` counts the lines of what the tool gave, `changed` are files of the workspace that the
    call changed.
    """

    type: ClassVar[str] = "tool.result"
    call_id: str
    name: str
    text: str
    images: tuple[ImageRef, ...] = ()
    is_error: bool = False
    ms: int | None = None
    artifact: str | None = None
    lines: int | None = None
    changed: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval(Event):
    """The verdict on a call; automatic ones too (`scope` 'mode')."""

    type: ClassVar[str] = "approval"
    call_id: str
    decision: Decision
    scope: Scope
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeChange(Event):
    """The approval mode changed."""

    type: ClassVar[str] = "mode"
    mode: Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStart(Event):
    """A background command began."""

    type: ClassVar[str] = "job.start"
    id: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd(Event):
    """A background command ended."""

    type: ClassVar[str] = "job.end"
    id: str
    exit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFold(Event):
    """Later windows show `text` in place of a result (ENG-21)."""

    type: ClassVar[str] = "result.fold"
    target: int
    text: str
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEdit(Event):
    """The person dropped an entry from the window, or brought it back."""

    type: ClassVar[str] = "window.edit"
    target: int
    action: Literal["drop", "restore"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRewind(Event):
    """Events from `to` up to here leave the window; the log keeps them."""

    type: ClassVar[str] = "window.rewind"
    to: int
    why: Literal["undo", "edit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanItem:
    """A step of the plan."""

    text: str
    state: PlanState = "todo"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatePlan(Event):
    """The plan as the model wrote it; a row of the window (ENG-19)."""

    type: ClassVar[str] = "gate.plan"
    text: str
    items: tuple[PlanItem, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUse(Event):
    """A skill came into use: its file's digest then; '' where it was put away again."""

    type: ClassVar[str] = "skill.use"
    name: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryAdd(Event):
    """A summary stands for the events `first` to `last` in later windows (ENG-22)."""

    type: ClassVar[str] = "summary.add"
    first: int
    last: int
    text: str
    source_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryRevoke(Event):
    """Takes a summary back."""

    type: ClassVar[str] = "summary.revoke"
    target: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOpen(Event):
    """A sub-context, or a lasting one, begins (ENG-23). A compaction says how many tokens the
    window had before it, and how many it begins with (estimates).
    """

    type: ClassVar[str] = "ctx.open"
    id: int
    parent: int
    kind: str
    lasting: bool = False
    system: str | None = None
    offered_tools: tuple[str, ...] | None = None
    context_tokens: int | None = field(default=None, metadata={"omit_none": True})
    start_tokens: int | None = field(default=None, metadata={"omit_none": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextClose(Event):
    """A context ends with its report."""

    type: ClassVar[str] = "ctx.close"
    id: int
    report: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshContext(Event):
    """A fresh row as sent (ORD-5)."""

    type: ClassVar[str] = "context.fresh"
    kind: str
    trust: Literal["trusted", "data"]
    text: str
    digest: str
    placement: str
    supersedes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalledFact:
    """A fact that matched, by its beginning: the `words` that it has of what the person asked, how
    many `later` ones its file has, and whether it was sent or had no room.
    """

    text: str
    date: str
    keeper: Keeper
    words: tuple[str, ...]
    later: int
    sent: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(Event):
    """Why the recalled facts of the next request, and of those after it, are what they are; written
    where that changed. Those sent come first, then the others, each the best first; `matched` of
    `known` facts matched, which may take `cap` tokens (ORD-10).
    """

    type: ClassVar[str] = "context.recall"
    facts: tuple[RecalledFact, ...] = ()
    matched: int
    known: int
    cap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowReset(Event):
    """A new window starts; `manual` ones are privacy floors (ROL-1, ROL-9). `too_small` says that
    the window which a rollover left had filled up after a single reply.
    """

    type: ClassVar[str] = "window.reset"
    kind: Literal["rollover", "manual"]
    rollover_id: str | None = None
    reason: str = ""
    previous_window: str = ""
    flush_opportunity: bool = False
    context_tokens: int | None = None
    max_tokens: int | None = None
    too_small: bool | None = field(default=None, metadata={"omit_none": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLeadIn(Event):
    """The guidance a rolled-over window begins with, and what it quotes: what the person `asked`
    that is not answered to its end, and the `plan`.
    """

    type: ClassVar[str] = "window.lead_in"
    rollover_id: str
    text: str
    asked: str | None = field(default=None, metadata={"omit_none": True})
    plan: str | None = field(default=None, metadata={"omit_none": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetWarning(Event):
    """The model was warned that the window fills (ROL-3)."""

    type: ClassVar[str] = "budget.warning"
    text: str
    figures: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetBlocked(Event):
    """No request can be made: why, the figures in tokens, and what the person can do."""

    type: ClassVar[str] = "budget.blocked"
    reason: str
    figures: Mapping[str, Json] = field(default_factory=dict)
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnd(Event):
    """A run is over."""

    type: ClassVar[str] = "run.end"
    why: RunEndWhy


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEvent(Event):
    """A line of a type, or with values, that only another build understands: kept as it came.

    `raw` is the whole line's object; `kind` its type.
    """

    kind: str
    raw: Mapping[str, Json]
    why: str = "unknown type"


RecipeEvent = SessionStart | SessionResume | SessionRecipe

EVENT_TYPES: Mapping[str, type[Event]] = {
    kind.type: kind
    for kind in (
        SessionStart,
        SessionResume,
        SessionRecipe,
        SessionRecovered,
        SessionTitle,
        SessionEnd,
        Note,
        UserMessage,
        UserQueued,
        AttachImage,
        AttachConfirm,
        LlmRequest,
        LlmResponse,
        LlmError,
        ToolCall,
        ToolResult,
        Approval,
        ModeChange,
        JobStart,
        JobEnd,
        ResultFold,
        WindowEdit,
        WindowRewind,
        GatePlan,
        SkillUse,
        SummaryAdd,
        SummaryRevoke,
        ContextOpen,
        ContextClose,
        FreshContext,
        Recall,
        WindowReset,
        WindowLeadIn,
        BudgetWarning,
        BudgetBlocked,
        RunEnd,
    )
}
"""Every type of line this build writes, by its name in the log."""
