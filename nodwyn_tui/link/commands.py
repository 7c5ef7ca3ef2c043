"""Commands: what a front tells the worker. One closed union of frozen records."""

from typing import Literal

from nodwyn_tui.domain.words import MemoryFile, Mode, Strategy, WindowAction
from nodwyn_tui.link.images import ImageCommand
from nodwyn_tui.link.record import Record
from nodwyn_tui.link.requests import RequestCommand
from nodwyn_tui.link.settings import SettingsCommand
from nodwyn_tui.link.setup import SetupCommand


class Open(Record):
    """The first command: open a session in `workspace` (an absolute path).

    `resume` is '' for a new session, 'last' for the newest one here, else an id, an id's prefix or
    a path. `want_log` asks for every log event as `LogLine`. `allow` holds patterns `TOOL: GLOB`.
    """

    workspace: str
    resume: str = ""
    model: str = ""
    mode: Mode | None = None
    strategy: Strategy | None = None
    config_file: str = ""
    add_dirs: tuple[str, ...] = ()
    tour: bool = False
    headless: bool = False
    want_log: bool = False
    allow: tuple[str, ...] = ()
    yes: bool = False
    no_sandbox: bool = False
    max_steps: int | None = None
    max_seconds: float | None = None
    max_cost: float | None = None
    max_tokens: int | None = None


class Send(Record):
    """A message of the person. While a run goes on it is queued: `steer` after the current tool
    batch, else at the run's end. `images` are digests of attached ones, in their order.
    """

    text: str
    steer: bool = False
    images: tuple[str, ...] = ()


class Interrupt(Record):
    """Esc: stop the run now; every open call gets its interrupted result."""


class Continue(Record):
    """Go on after a limit, an error or an interruption, without new words."""


class Answer(Record):
    """The person's answer to `ApprovalAsked`. `reason` goes to the model when refused."""

    call_id: str
    allow: bool
    scope: Literal["once", "session", "always"] = "once"
    reason: str = ""


class SwitchModel(Record):
    """Use another model from the next request on: a `[models]` name, or `SERVER/ID`."""

    model: str


class ListModels(Record):
    """Ask for `ModelsListed`."""


class SetMode(Record):
    """Change the approval mode."""

    mode: Mode


class ClearWindow(Record):
    """`/clear`: a new window in this session; nothing before it is sent again."""


class Compact(Record):
    """`/compact`: ask the model for a handover note, for the person to look at; `wish` is what they
    want kept in mind. `CompactionStarted` and then `CompactionOffered` follow, or
    `CompactionEnded`.
    """

    wish: str = ""


class AcceptCompaction(Record):
    """Go on from the note that was offered, as it stands in `note`."""

    note: str


class DropCompaction(Record):
    """Put the note that was offered away; nothing changes."""


class UndoCompaction(Record):
    """`/compact undo`: the window before the latest compaction, while nothing was said since."""


class PriceEdit(Record):
    """Ask for `EditPriced`: what can be done with an entry in the window now, and for how much."""

    entry_id: str


class EditWindow(Record):
    """Take an entry out of the window, shorten it there, or bring it back; between runs only.

    A step is a reply with its calls and their results, an exchange a message of the person with all
    up to their next one. `rewind` takes a message ('' for the latest) and all behind it out; its
    text comes back (`Returned`), files stay as they are. `rewrite` changes nothing: the text of a
    message that is not in the window comes back, also during a run.
    """

    entry_id: str
    action: WindowAction


class ListMessages(Record):
    """Ask for `MessagesListed`."""


class ShowMemory(Record):
    """Ask for `MemoryShown`, of these files."""

    files: tuple[MemoryFile, ...]


class ListSkills(Record):
    """Ask for `SkillsListed`."""


class PickSkill(Record):
    """Take a skill up for the session, or put it away if it is in use."""

    name: str


class TakeBack(Record):
    """The message that waits last is to be the person's again (`Returned`)."""


class NewSession(Record):
    """`/new`: end this session and start another in the same workspace."""


class StartTour(Record):
    """Offered where no model was found: open the built-in tour in place of this session."""


class FetchBodies(Record):
    """Ask for the bodies of entries (`BodyLoaded`, one each), by entry id."""

    ids: tuple[str, ...]


class FetchPage(Record):
    """Ask for entries that were not told (`PageLoaded`): the nearest before log line `before`, or,
    where that is 0, the nearest behind line `after` (0: from the session's beginning). The worker
    says how many make a page; the entries of one line are never parted.
    """

    before: int = 0
    after: int = 0


class FindFiles(Record):
    """Ask for files of the workspace whose paths fit `query`: `FilesFound`, again while more are
    found. A later query takes its place.
    """

    query: str


class SaveDraft(Record):
    """The prompt as it stands, with the digests of its images; kept over a crash. Sent at most
    twice a second.
    """

    text: str
    images: tuple[str, ...] = ()


class Close(Record):
    """End the session in order; the worker leaves."""


Command = (
    Open
    | Send
    | Interrupt
    | Continue
    | Answer
    | SwitchModel
    | ListModels
    | SetMode
    | ClearWindow
    | Compact
    | AcceptCompaction
    | DropCompaction
    | UndoCompaction
    | PriceEdit
    | EditWindow
    | ListMessages
    | ShowMemory
    | ListSkills
    | PickSkill
    | TakeBack
    | NewSession
    | StartTour
    | FetchBodies
    | FetchPage
    | FindFiles
    | SaveDraft
    | Close
    | SettingsCommand
    | ImageCommand
    | RequestCommand
    | SetupCommand
)
