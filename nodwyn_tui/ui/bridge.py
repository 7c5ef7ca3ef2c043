"""Between the link and the screen: one task that reads events and posts them, one way down for
commands, and another worker where one died (TUI-12).
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from nodwyn_tui.link import commands, images, requests, settings, setup
from nodwyn_tui.link import events as up
from nodwyn_tui.link.local import Front
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.ui import messages as news

MOST_RESTARTS = 3
WITHIN_S = 60.0


class Bridge:
    """`front` has been told `opening` already. `connect` starts another worker; without it the
    end of one is the end.
    """

    def __init__(
        self,
        front: Front,
        opening: commands.Open,
        clock: Clock,
        connect: Callable[[], Front] | None = None,
    ) -> None:
        self._front, self._opening, self._clock, self._connect = front, opening, clock, connect
        self._over = False
        """The worker said its last word: `Closed` or `Failed`."""
        self._starts: deque[float] = deque(maxlen=MOST_RESTARTS)
        self._unconfirmed: list[commands.Send] = []
        self._session = ""
        self._recorded = False
        """The open session has entries on disk, so that it can be resumed."""
        self.lost = False
        """There is no worker, and none is being started."""

    @property
    def session(self) -> str:
        """The open session, if it can be resumed; else ''. A tour's cannot: it begins anew."""
        return self._session if self._recorded and not self._opening.tour else ""

    def send(self, command: commands.Command) -> None:
        """Tell the worker."""
        if isinstance(command, commands.Send):
            self._unconfirmed.append(command)
        self._front.send(command)

    async def run(self, post: Callable[[news.News], object]) -> None:
        """Post what the worker tells, until it has closed the session or cannot be had any more."""
        while not self._over:
            async for event in self._front.events():
                if (message := self._message(event)) is not None:
                    post(message)
            if self._over:
                break
            await self._front.close()
            again = self._restart()
            post(news.WorkerLost(again=again, unsent=tuple(self._unconfirmed)))
            self._unconfirmed.clear()
            if not again:
                break

    def try_again(self) -> None:
        """Start a worker although several have died; `run` has to be called again."""
        self._starts.clear()
        self._restart()

    async def close(self) -> None:
        """Let go of the worker."""
        await self._front.close()

    def _restart(self) -> bool:
        """Another worker on the same session, unless too many died within a minute."""
        now = self._clock.monotonic()
        recent = [moment for moment in self._starts if now - moment < WITHIN_S]
        self.lost = self._connect is None or len(recent) >= MOST_RESTARTS
        if self._connect is None or self.lost:
            return False
        self._starts.append(now)
        self._front = self._connect()
        if self.session:
            self._front.send(replace(self._opening, resume=self.session, model="", mode=None))
        else:
            self._front.send(self._opening)
        return True

    def _message(self, event: up.UpEvent) -> news.News | None:
        message: news.News | None = None
        match event:
            case up.Opened() | up.Failed() | up.Closed():
                self._follow(event)
                message = news.SessionNews(event)
            case (
                up.EntriesLoaded()
                | up.PageLoaded()
                | up.EntryAdded()
                | up.EntryChanged()
                | up.StatesChanged()
                | up.BodyLoaded()
                | up.CallOutput()
            ):
                self._confirm(event)
                message = news.StoryNews(event)
            case up.RequestSent() | up.ReplyPiece() | up.CallPiece() | up.ReplyEnded():
                message = news.ReplyNews(event)
            case (
                up.RunStarted()
                | up.RetryWaiting()
                | up.RunEnded()
                | up.Queued()
                | up.NotSent()
                | up.Returned()
            ):
                self._confirm(event)
                message = news.RunNews(event)
            case up.ApprovalAsked() | up.ApprovalClosed():
                message = news.AskingNews(event)
            case up.CompactionStarted() | up.CompactionOffered() | up.CompactionEnded():
                message = news.CompactionNews(event)
            case (
                up.MeterChanged()
                | up.ModeChanged()
                | up.KeysChanged()
                | up.ModelChanged()
                | up.Unsaved()
            ):
                message = news.StandingNews(event)
            case (
                up.ModelsListed()
                | up.FilesFound()
                | up.Notice()
                | up.EditPriced()
                | up.MessagesListed()
                | up.MemoryShown()
                | up.SkillsListed()
            ):
                message = news.AsideNews(event)
            case up.LogLine():
                pass  # for `run --format jsonl`; the screen never asks for it
            case _:
                message = _screens_of_their_own(event)
        return message

    def _follow(self, event: up.Opened | up.Failed | up.Closed) -> None:
        """A worker that dies is replaced by one that opens what is open now."""
        if isinstance(event, up.Opened):
            self._session = event.session
            self._recorded = False
            self._opening = replace(
                self._opening,
                workspace=event.workspace,
                resume="",
                tour=event.tour,
                model=event.model,
                mode=event.mode,
            )
        else:
            self._over = True

    def _confirm(self, event: up.UpEvent) -> None:
        """A message that was answered in any way is the worker's to keep."""
        match event:
            case up.EntryAdded(entry=entry):
                self._recorded = self._recorded or entry.seq > 0
                confirmed = entry.kind == "user"
            case up.EntriesLoaded(entries=entries):
                self._recorded = self._recorded or bool(entries)
                confirmed = False
            case _:
                confirmed = isinstance(event, up.Queued | up.RunStarted | up.NotSent)
        if confirmed:
            self._unconfirmed.clear()


def _screens_of_their_own(
    event: settings.SettingsEvent | images.ImageEvent | requests.RequestEvent | setup.SetupEvent,
) -> news.News:
    """What is drawn by settings, by the prompt's images, by a request's sheet, by a first run."""
    match event:
        case (
            settings.SettingsShown()
            | settings.SettingsSaved()
            | settings.SettingsRefused()
            | settings.TrialPriced()
            | settings.TrialStep()
            | settings.TrialEnded()
            | settings.ServerModelsListed()
            | settings.CredentialKept()
        ):
            return news.SettingsNews(event)
        case images.ImageAttached() | images.AttachRefused() | images.ImagesWithheld():
            return news.ImageNews(event)
        case requests.WindowShown() | requests.PiecesLoaded():
            return news.RequestNews(event)
        case setup.WaysFound() | setup.PullProgress() | setup.LocalStarting():
            return news.SetupNews(event)
        case _:
            assert_never(event)
