"""Events of the link: what the worker tells a front. One closed union of frozen records.

A front draws from these alone, the same whether they come from a live run or from a log that was
read. Everything in them that a model, a tool, a file or a server wrote is plain text.
"""

from typing import Literal

from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.domain.words import Keeper, MemoryFile, Mode, RunEndWhy, WindowAction
from nodwyn_tui.link.images import Attached, ImageEvent
from nodwyn_tui.link.record import Record
from nodwyn_tui.link.requests import RequestEvent
from nodwyn_tui.link.settings import SettingsEvent
from nodwyn_tui.link.setup import SetupEvent

EntryKind = Literal[
    "user",
    "image",
    "thinking",
    "assistant",
    "call",
    "plan",
    "note",
    "guidance",
    "error",
    "divider",
]
EntryState = Literal["in", "cut", "elided", "folded", "dropped", "behind", "outside"]
CallStatus = Literal["", "waiting", "running", "ok", "failed", "refused", "interrupted"]
SegmentKind = Literal["system", "summary", "history", "images", "fresh", "new"]


class Body(Record):
    """An entry in full. A call has `arguments` (pretty JSON), `text` (its result) and `diff`."""

    text: str
    arguments: str = ""
    diff: str = ""


class Entry(Record):
    """One thing of the transcript. `id` is unique and sorts as the log does with `seq` first;
    `seq` is the log line it comes from (0: not yet on disk). `title` is a call's one-line summary
    or a divider's label; `preview` the first characters of the body, `size` its length in
    characters. `state` says where the entry stands in the window ('outside' never goes there).
    `body` is there for live entries and the latest ones; else it is fetched by id. `picture` is an
    image's file, named by its digest. Guidance is what the program told the model by itself. At a
    divider that `leaves` a window, that window can be asked for (`ShowWindow`).
    """

    id: str
    seq: int
    kind: EntryKind
    state: EntryState = "in"
    status: CallStatus = ""
    title: str = ""
    preview: str = ""
    size: int = 0
    ms: int | None = None
    call_id: str = ""
    tool: str = ""
    picture: str = ""
    leaves: bool = False
    body: Body | None = None


class Problem(Record):
    """Something wrong in the configuration, one entry each; `text` names file, line and key."""

    text: str
    warning: bool = False


class Opened(Record):
    """A session is open (also after `/new`, a tour, a restart). Fronts start their picture anew.

    `model` is '' where none was found: then `setup` says what to do. `draft` and `history` (newest
    last) are for the prompt. `read_only` says that another process (`holder_pid`) writes.
    `keys` are the bindings that are other than usual, as `KeysChanged` has them. `instructions` are
    the files of standing wishes that the model is told of from the start, a line each.
    """

    session: str
    workspace: str
    branch: str = ""
    model: str = ""
    server: str = ""
    provider: str = ""
    mode: Mode = "ask"
    strategy: str = "trim"
    theme: str = "nodwyn-dark"
    draft: str = ""
    draft_images: tuple[Attached, ...] = ()
    history: tuple[str, ...] = ()
    read_only: bool = False
    holder_pid: int = 0
    sandboxed: bool = False
    tour: bool = False
    problems: tuple[Problem, ...] = ()
    setup: str = ""
    log_path: str = ""
    keys: tuple[tuple[str, str], ...] = ()
    instructions: tuple[str, ...] = ()


class EntriesLoaded(Record):
    """The transcript's latest entries, in order, after `Opened`; may come in several pieces. In
    the first one `earlier` says that there are others before them: `FetchPage` asks for those.
    """

    entries: tuple[Entry, ...]
    done: bool
    earlier: bool = False


class PageLoaded(Record):
    """The answer to `FetchPage` with the same `before` and `after`: entries in order, none where
    there are none. `more` says that others lie beyond them in the direction that was asked for.
    """

    entries: tuple[Entry, ...]
    before: int = 0
    after: int = 0
    more: bool


class EntryAdded(Record):
    """A new entry at the end."""

    entry: Entry


class EntryChanged(Record):
    """An entry changed; same id, same place."""

    entry: Entry


class StatesChanged(Record):
    """Entries by id whose place in the window changed (a trim, a clear), with the new state."""

    ids: tuple[str, ...]
    state: EntryState


class BodyLoaded(Record):
    """An entry's body, as asked for."""

    id: str
    body: Body


class RunStarted(Record):
    """The assistant works from here to `RunEnded`."""

    run: int


class RequestSent(Record):
    """A request went out; a reply will stream. `purpose` is 'handover' where it asks for a
    handover note.
    """

    seq: int
    model: str
    purpose: str = "turn"


class ReplyPiece(Record):
    """A piece of the reply being streamed. What streamed is replaced by entries when it ends."""

    kind: Literal["text", "thinking"]
    text: str


class CallPiece(Record):
    """A call is being written: its name and characters so far."""

    index: int
    name: str
    chars: int


class ReplyEnded(Record):
    """The stream ended; the live area is dropped. Entries for what was kept follow or came.
    `partial` is text of a broken stream, shown as incomplete and not kept in the window.
    """

    seq: int
    partial: str = ""


class CallOutput(Record):
    """The latest line of a running call's output, for its entry."""

    id: str
    line: str


class ApprovalAsked(Record):
    """A call waits for the person. Exactly one of `diff` and `command` is set for writes and
    shell; `touches` lists paths it may change; `pattern` is what "always" would allow.
    """

    call_id: str
    entry_id: str
    tool: str
    title: str
    diff: str = ""
    command: str = ""
    touches: tuple[str, ...] = ()
    pattern: str = ""
    warning: str = ""


class ApprovalClosed(Record):
    """The call no longer waits (answered, interrupted, or the mode now allows it)."""

    call_id: str


class RetryWaiting(Record):
    """A request will be sent again in `seconds`; Esc stops it."""

    seconds: float
    reason: str
    attempt: int


class RunEnded(Record):
    """The run is over; `message` says why where it is not 'done', `remedy` what to do; `told` says
    that the transcript's latest entry says the same.
    """

    why: RunEndWhy
    text: str = ""
    requests: int = 0
    usage: Usage | None = None
    message: str = ""
    told: bool = False
    kind: str = ""
    remedy: str = ""
    changed_files: tuple[str, ...] = ()
    exit_code: int = 0


class Segment(Record):
    """A part of the window, in estimated tokens."""

    kind: SegmentKind
    tokens: int


class MeterChanged(Record):
    """What fills the window. Tokens; shares 0 to 1, `None` where unknown. `source` says whether
    `used` is the server's figure or the estimate; `context_from` where the context size is from.
    `next_event` is what happens next and about when ("next trim in ~12 steps"). `cost_usd` is of
    the replies whose cost is known; `unpriced` counts the others. `warm`: where the server does
    not report what was cached, the time it took shows that the last prompt was. Under the
    `strategy` 'rollover' the model is warned at `low`, and the window left at `high`; both are 0
    where nothing happens by itself.
    """

    segments: tuple[Segment, ...]
    used: int
    source: Literal["reported", "estimated"]
    high: int
    low: int
    ceiling: int
    context: int
    context_from: str
    cached_reply: float | None = None
    cached_session: float | None = None
    next_event: str = ""
    cost_usd: float | None = None
    unpriced: int = 0
    elapsed_ms: int | None = None
    warm: bool = False
    strategy: str = "trim"


class ModeChanged(Record):
    """The approval mode is now this; `refused` says why another one was not taken."""

    mode: Mode
    refused: str = ""


class KeysChanged(Record):
    """The keys that are other than usual from now on: a binding's id of `domain/keys.py`, and its
    keys with commas between, '' for none.
    """

    keys: tuple[tuple[str, str], ...]


class ModelChanged(Record):
    """Requests go to this model from now on."""

    model: str
    server: str
    provider: str
    strategy: str = "trim"


class ModelChoice(Record):
    """A model the person can pick: `name` is what `SwitchModel` takes. `cold_tokens` are what its
    next request would read anew, `cold_usd` what that costs (`None` where unknown); `detail` says
    so too.
    """

    name: str
    detail: str = ""
    current: bool = False
    cold_tokens: int = 0
    cold_usd: float | None = None


class ModelsListed(Record):
    """Configured models, and those of servers that could be asked; `failures` a line each."""

    models: tuple[ModelChoice, ...]
    failures: tuple[str, ...] = ()


class FilesFound(Record):
    """Paths that fit a query, relative to the workspace, the best first; `more` says that the
    folders are still being listed.
    """

    query: str
    paths: tuple[str, ...]
    more: bool = False


class Queued(Record):
    """The messages that wait for the run, in order."""

    texts: tuple[str, ...]


class CompactionStarted(Record):
    """`/compact` asks the model for a handover note; an interruption stops it."""


class Portion(Record):
    """A part of a window: what it is, how many entries, how many tokens (estimated)."""

    label: str
    tokens: int
    count: int = 1


class CompactionOffered(Record):
    """A handover note for the person to accept, edit or drop. Tokens are estimated: the window has
    `before` and would begin with `after`; `goes` leaves it, `stays` is what it would begin with.
    `own` says that the program wrote the note; `usage` is what asking for it cost.
    """

    note: str
    before: int
    after: int
    goes: tuple[Portion, ...]
    stays: tuple[Portion, ...]
    own: bool = False
    usage: Usage | None = None


class CompactionEnded(Record):
    """What became of `/compact`, or of undoing it. `taken` says that the window begins anew."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    taken: bool = False


class Returned(Record):
    """A message is the person's again, and goes back into the prompt: it was rewound, no longer
    waits, or is to be written `again`; of one that was rejected for its length the images alone do.
    """

    text: str
    why: Literal["rewound", "queued", "rejected", "again"]
    images: tuple[Attached, ...] = ()


class EditOption(Record):
    """Something that can be done with an entry. Tokens are estimated: `freed` leave every later
    request (negative: come back), `again` stand behind it in the provider's cache and are read anew
    once, which costs `cost_usd` more than reading them from there (`None` without a price).
    """

    action: WindowAction
    freed: int
    again: int = 0
    cost_usd: float | None = None


class EditPriced(Record):
    """What can be done with an entry now; `why_not` says why nothing can in the window."""

    entry_id: str
    options: tuple[EditOption, ...]
    why_not: str = ""


class Earlier(Record):
    """A message of the person in the window: how it begins, and the tokens from it on."""

    entry_id: str
    text: str
    tokens: int


class MessagesListed(Record):
    """The messages that can be rewound to, the latest first."""

    messages: tuple[Earlier, ...]


class MemoryText(Record):
    """A file of what is remembered between sessions: where it lies, and what stands in it (''
    where it is not there), with `items` facts or corrections; `problem` says why it is not read.
    """

    file: MemoryFile
    keeper: Keeper
    path: str
    text: str = ""
    items: int = 0
    problem: str = ""


class RecalledFact(Record):
    """A fact that matched what was asked, by its beginning: the `words` that it has of that, how
    many `later` ones its file has, and whether it was sent or had no room.
    """

    text: str
    date: str
    keeper: Keeper
    words: tuple[str, ...]
    later: int
    sent: bool


class Recalled(Record):
    """What the last request took from memory, the best match first: `matched` of `known` facts
    matched, which may take `cap` tokens.
    """

    facts: tuple[RecalledFact, ...]
    matched: int
    known: int
    cap: int


class MemoryShown(Record):
    """What is remembered, as asked for by `ShowMemory`; where that was the facts, also what the
    last request `recalled` of them, `None` for nothing in this window yet; `off` says that this
    model is sent none.
    """

    texts: tuple[MemoryText, ...]
    recalled: Recalled | None = None
    off: bool = False


class SkillFacts(Record):
    """A skill that can be picked: its own words on what it is for, whose it is."""

    name: str
    description: str
    keeper: Keeper
    in_use: bool = False


class SkillsListed(Record):
    """The skills there are, the person's own first; what is wrong with others, a line each; and the
    folders in which they may lie.
    """

    skills: tuple[SkillFacts, ...]
    problems: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


class NotSent(Record):
    """The disk refused the person's message, so nothing was sent: its text goes back into the
    prompt, and `reason` says what to do.
    """

    text: str
    reason: str
    images: tuple[Attached, ...] = ()


class Unsaved(Record):
    """`count` log events are held in memory because the disk refused (`why`); 0: all is saved.
    Shown all the time while it lasts.
    """

    count: int
    why: str = ""


class Notice(Record):
    """A remark for the person. `detail` opens on request."""

    level: Literal["info", "warning", "error"]
    text: str
    detail: str = ""


class LogLine(Record):
    """A log event as its line, for `--format jsonl`."""

    line: str


class Failed(Record):
    """The session could not be opened, or the worker cannot go on. Nothing follows. Where several
    things are wrong, `each` holds a message a thing, and `message` all of them.
    """

    message: str
    exit_code: int
    kind: str = ""
    each: tuple[str, ...] = ()


class Closed(Record):
    """The session is closed and on disk; nothing follows."""

    session: str = ""


UpEvent = (
    Opened
    | EntriesLoaded
    | PageLoaded
    | EntryAdded
    | EntryChanged
    | StatesChanged
    | BodyLoaded
    | RunStarted
    | RequestSent
    | ReplyPiece
    | CallPiece
    | ReplyEnded
    | CallOutput
    | ApprovalAsked
    | ApprovalClosed
    | RetryWaiting
    | RunEnded
    | MeterChanged
    | ModeChanged
    | KeysChanged
    | ModelChanged
    | ModelsListed
    | FilesFound
    | Queued
    | CompactionStarted
    | CompactionOffered
    | CompactionEnded
    | NotSent
    | Returned
    | EditPriced
    | MessagesListed
    | MemoryShown
    | SkillsListed
    | Unsaved
    | Notice
    | LogLine
    | Failed
    | Closed
    | SettingsEvent
    | ImageEvent
    | RequestEvent
    | SetupEvent
)
