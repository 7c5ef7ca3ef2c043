"""What the bridge tells the screen: each message holds one event of the link, grouped by who draws
it. They go to the screen alone.
"""

from dataclasses import dataclass

from textual.message import Message

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import ImageEvent
from nodwyn_tui.link.requests import RequestEvent
from nodwyn_tui.link.settings import SettingsEvent
from nodwyn_tui.link.setup import SetupEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What the app leaves with. `session` can be resumed: it is on disk; '' where there is none.
    `message` is for the person, once the terminal is theirs again.
    """

    exit_code: int = 0
    session: str = ""
    message: str = ""


StoryEvent = (
    up.EntriesLoaded
    | up.PageLoaded
    | up.EntryAdded
    | up.EntryChanged
    | up.StatesChanged
    | up.BodyLoaded
    | up.CallOutput
)
ReplyEvent = up.RequestSent | up.ReplyPiece | up.CallPiece | up.ReplyEnded
RunEvent = up.RunStarted | up.RetryWaiting | up.RunEnded | up.Queued | up.NotSent | up.Returned
AskingEvent = up.ApprovalAsked | up.ApprovalClosed
StandingEvent = up.MeterChanged | up.ModeChanged | up.KeysChanged | up.ModelChanged | up.Unsaved
CompactionEvent = up.CompactionStarted | up.CompactionOffered | up.CompactionEnded
AsideEvent = (
    up.Notice
    | up.ModelsListed
    | up.FilesFound
    | up.EditPriced
    | up.MessagesListed
    | up.MemoryShown
    | up.SkillsListed
)
SessionEvent = up.Opened | up.Failed | up.Closed


class SessionNews(Message, bubble=False):
    """A session is open, or over."""

    def __init__(self, event: SessionEvent) -> None:
        self.event = event
        super().__init__()


class StoryNews(Message, bubble=False):
    """Something of the story so far."""

    def __init__(self, event: StoryEvent) -> None:
        self.event = event
        super().__init__()


class ReplyNews(Message, bubble=False):
    """Something of the reply that is being written."""

    def __init__(self, event: ReplyEvent) -> None:
        self.event = event
        super().__init__()


class RunNews(Message, bubble=False):
    """What goes on."""

    def __init__(self, event: RunEvent) -> None:
        self.event = event
        super().__init__()


class AskingNews(Message, bubble=False):
    """A call waits for the person, or no longer."""

    def __init__(self, event: AskingEvent) -> None:
        self.event = event
        super().__init__()


class CompactionNews(Message, bubble=False):
    """Something of `/compact`."""

    def __init__(self, event: CompactionEvent) -> None:
        self.event = event
        super().__init__()


class StandingNews(Message, bubble=False):
    """A figure or a state that is always on the screen."""

    def __init__(self, event: StandingEvent) -> None:
        self.event = event
        super().__init__()


class AsideNews(Message, bubble=False):
    """A remark for the person, or an answer to something they asked for."""

    def __init__(self, event: AsideEvent) -> None:
        self.event = event
        super().__init__()


class SettingsNews(Message, bubble=False):
    """An answer to the settings screen."""

    def __init__(self, event: SettingsEvent) -> None:
        self.event = event
        super().__init__()


class ImageNews(Message, bubble=False):
    """Something of the images that are attached."""

    def __init__(self, event: ImageEvent) -> None:
        self.event = event
        super().__init__()


class RequestNews(Message, bubble=False):
    """Something of a request that is looked at."""

    def __init__(self, event: RequestEvent) -> None:
        self.event = event
        super().__init__()


class SetupNews(Message, bubble=False):
    """Something of a first run."""

    def __init__(self, event: SetupEvent) -> None:
        self.event = event
        super().__init__()


class WorkerLost(Message, bubble=False):
    """The worker is gone without a word. `again` says that another was started; `unsent` is what
    the person had sent and it had not confirmed.
    """

    def __init__(self, *, again: bool, unsent: tuple[commands.Send, ...]) -> None:
        self.again, self.unsent = again, unsent
        super().__init__()


News = (
    SessionNews
    | StoryNews
    | ReplyNews
    | RunNews
    | AskingNews
    | CompactionNews
    | StandingNews
    | AsideNews
    | SettingsNews
    | ImageNews
    | RequestNews
    | SetupNews
    | WorkerLost
)
