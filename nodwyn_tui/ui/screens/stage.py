"""The conversation's parts on the screen, and what the worker tells routed to them.

What the person does is `conversation.py`'s.
"""

import asyncio
from typing import Literal, assert_never

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from nodwyn_tui.domain.words import Pictures
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import ImagesWithheld
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.bridge import Bridge
from nodwyn_tui.ui.screens.memory_sheet import MemorySheet
from nodwyn_tui.ui.screens.models import Models
from nodwyn_tui.ui.screens.skills import Skills
from nodwyn_tui.ui.widgets import rendering
from nodwyn_tui.ui.widgets.activity import Activity, Doing
from nodwyn_tui.ui.widgets.chips import Chips
from nodwyn_tui.ui.widgets.completing import Completer
from nodwyn_tui.ui.widgets.footer import Footer, Hint
from nodwyn_tui.ui.widgets.header import Header
from nodwyn_tui.ui.widgets.keys import Keys, keys_of
from nodwyn_tui.ui.widgets.meter import EMPTY, Meter
from nodwyn_tui.ui.widgets.notices import NoticeBar, QueueBar, StandingBar
from nodwyn_tui.ui.widgets.offers import Offers
from nodwyn_tui.ui.widgets.opening import Opening
from nodwyn_tui.ui.widgets.picture import Preview
from nodwyn_tui.ui.widgets.prompt import Prompt
from nodwyn_tui.ui.widgets.too_small import LEAST, TooSmall
from nodwyn_tui.ui.widgets.transcript import Transcript

Level = Literal["info", "warning", "error"]
QUIET_S = 1.0
"""What wants an answer takes the keyboard once nothing has been typed for so long."""
LOW = 20
"""Rows; below it the meter has no bar and the prompt no frame."""


class Stage(Screen[None]):
    """Draws what the bridge posts."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (LEAST[0], "-wide")]  # noqa: RUF012 - Textual's type
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (LEAST[1], "-low"), (LOW, "-high")]  # noqa: RUF012 - too

    def __init__(
        self, bridge: Bridge, clock: Clock, completer: Completer, pictures: Pictures
    ) -> None:
        super().__init__()
        self.bridge = bridge
        self.pictures = pictures
        self.header = Header(id="header")
        self.transcript = Transcript(Opening(), id="transcript")
        self.standing = StandingBar(id="standing")
        self.queue = QueueBar(id="queue")
        self.notices = NoticeBar(id="notices")
        self.activity = Activity(clock, id="activity")
        self.meter = Meter(id="meter")
        self.offers = Offers(id="offers")
        self.preview = Preview(id="preview")
        self.chips = Chips(id="chips")
        self.prompt = Prompt(
            completer, id="prompt", placeholder="Type a message, or / for the commands"
        )
        self.footer = Footer(id="footer")
        self.models: Models | None = None
        """The picker, while it is open."""
        self.leaving = False
        self._lost: Literal["", "idle", "works"] = ""
        """What the worker did when it was lost, until another one has opened the session."""
        self._keyboard: Widget = self.prompt
        """Who had the keyboard last."""

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.transcript
        yield self.standing
        yield self.queue
        yield self.notices
        yield self.activity
        yield self.meter
        yield self.offers
        yield self.preview
        yield self.chips
        yield self.prompt
        yield self.footer
        yield TooSmall(id="too-small")

    def on_mount(self) -> None:
        self.set_focus(self.prompt)
        self.show_hints()
        self.call_after_refresh(lambda: self.run_worker(self._load_and_follow(), name="load"))

    async def _load_and_follow(self) -> None:
        """Load what the first paint did not need, aside, so that keys are shown meanwhile; then
        draw what the worker tells.
        """
        await asyncio.to_thread(rendering.load)
        self.follow_bridge()

    def on_resize(self) -> None:
        self.meter.one_row = self.size.height < LOW
        self.meter.redraw()
        if self.is_too_small:
            self.set_focus(None)  # what is not seen is not answered
        else:
            self.call_after_refresh(self._give_keyboard_back)

    def on_descendant_focus(self, message: events.DescendantFocus) -> None:
        if not self.is_too_small:
            self._keyboard = message.widget
        self.show_hints()

    @property
    def is_too_small(self) -> bool:
        """Whether nothing is shown but that."""
        return self.size.width < LEAST[0] or self.size.height < LEAST[1]

    def _give_keyboard_back(self) -> None:
        if self.focused is None and self._keyboard.focusable:
            self._keyboard.focus(scroll_visible=False)

    def follow_bridge(self) -> None:
        """Read what the worker tells, from now on."""
        self.run_worker(self.bridge.run(self.post_message), name="link")

    def on_session_news(self, message: news.SessionNews) -> None:
        event = message.event
        match event:
            case up.Opened():
                self._opened(event)
            case up.Closed(session=session):
                tour = self.header.opened is not None and self.header.opened.tour
                self.app.exit(news.Outcome(session="" if tour else session))
            case up.Failed(message=text, exit_code=code):
                if self.header.opened is None or self.leaving:
                    self.app.exit(news.Outcome(exit_code=code, message=text))
                else:
                    self.activity.end()
                    self.standing.set_worker(text)
            case _:
                assert_never(event)
        self.show_hints()

    def on_story_news(self, message: news.StoryNews) -> None:
        event = message.event
        if isinstance(event, up.EntriesLoaded) and event.entries and self.transcript.story.is_new:
            self._tell_problems()
        self.transcript.take(event)
        if isinstance(event, up.EntryAdded | up.EntryChanged) and event.entry.status == "running":
            self.activity.do(Doing(f"runs {event.entry.tool}"))

    def on_reply_news(self, message: news.ReplyNews) -> None:
        event = message.event
        match event:
            case up.RequestSent(model=model, purpose=purpose):
                note = purpose == "handover"
                self.activity.do(Doing(f"waits for {model}{' to write a note' if note else ''}"))
                return
            case up.ReplyPiece(kind=kind):
                self.activity.do(Doing("thinks" if kind == "thinking" else "writes"))
            case up.CallPiece(name=name):
                self.activity.do(Doing(f"writes a call of {name}" if name else "writes a call"))
            case up.ReplyEnded():
                self.activity.do(Doing("works"))
            case _:
                assert_never(event)
        self.transcript.take(event)

    def on_run_news(self, message: news.RunNews) -> None:
        event = message.event
        match event:
            case up.RunStarted():
                self.activity.begin()
            case up.RetryWaiting(seconds=seconds, reason=reason, attempt=attempt):
                until = self.activity.seconds_from_now(seconds)
                self.activity.do(Doing(f"asks again (try {attempt + 1}): {reason}", until))
            case up.RunEnded():
                self.activity.end(event)
                self.queue.show(self.queue.texts, running=False)
                seen = event.told and self.transcript.viewport.following
                if event.why not in ("done", "interrupted") and not seen:
                    self.tell("error", event.message or f"the run ended: {event.why}", event.remedy)
            case up.Queued(texts=texts):
                self.prompt.has_waiting = bool(texts)
                self.queue.show(texts, running=self.activity.busy)
            case up.Returned():
                self.take_back(event)
            case up.NotSent(text=text, reason=reason, images=images):
                self.prompt.put_back([text], images)
                self.tell("error", reason)
            case _:
                assert_never(event)
        self.show_hints()

    def on_asking_news(self, message: news.AskingNews) -> None:
        event = message.event
        self.transcript.take(event)
        if isinstance(event, up.ApprovalAsked):
            self.activity.do(Doing("waits for your answer", waits_for_you=True))
            self.offer_keyboard(message.time)
            if not self.app.app_focus:
                self.app.bell()
        elif not self.transcript.story.questions:
            self.activity.do(Doing("works"))
            self.prompt.end_reason()
            self.prompt.focus()
        self.show_hints()

    def on_standing_news(self, message: news.StandingNews) -> None:
        event = message.event
        match event:
            case up.MeterChanged():
                self.meter.state = event
                self.meter.redraw()
            case up.ModeChanged(mode=mode, refused=refused):
                self.header.set_mode(mode)
                if refused:
                    self.tell("warning", refused)
            case up.KeysChanged(keys=keys):
                self.use_keys(Keys(dict(keys)))
            case up.ModelChanged():
                before = self.header.opened
                self.header.set_model(event)
                self.tell("info", f"{_new_in(event, before)} from the next request on")
            case up.Unsaved():
                self.standing.set_unsaved(event)
            case _:
                assert_never(event)

    def on_aside_news(self, message: news.AsideNews) -> None:
        event = message.event
        match event:
            case up.Notice():
                self.notices.tell(event)
            case up.ModelsListed():
                if self.models is not None:
                    self.models.listed(event)
            case up.EditPriced() | up.MessagesListed():
                self.editing_told(event)
            case up.FilesFound():
                self.files_found(event)
            case up.MemoryShown():
                self.app.push_screen(MemorySheet(event, self.edit_memory))
            case up.SkillsListed():
                self.app.push_screen(Skills(event), self.skill_picked)
            case _:
                assert_never(event)

    def on_worker_lost(self, message: news.WorkerLost) -> None:
        """The draft stays; what was sent and not confirmed comes back to it."""
        if self.leaving:
            self.app.exit(news.Outcome(exit_code=1))
            return
        self._lost = "works" if self.activity.busy else "idle"
        self.activity.end()
        self.prompt.forget_asked()
        send = keys_of(self).name("send")
        if message.unsent:
            digests = [digest for sent in message.unsent for digest in sent.images]
            images = self.prompt.known(digests)
            self.prompt.put_back([sent.text for sent in message.unsent], images)
        self.standing.set_worker(
            "it stopped and is being started again from the session's log; your draft is kept"
            if message.again
            else f"it stopped several times within a minute; {send} tries again. Your draft is kept"
        )
        self.show_hints()

    def use_keys(self, keys: Keys) -> None:
        """These keys count, and are shown."""
        self.transcript.use_keys(keys)
        if keys == keys_of(self):
            return
        self.app.set_keymap(keys.keymap)
        self.notices.redraw()
        self.standing.redraw()
        self.show_hints()

    def tell(self, level: Level, text: str, detail: str = "") -> None:
        """A remark of the screen's own."""
        self.notices.tell(up.Notice(level=level, text=text, detail=detail))

    def offer_keyboard(self, now: float) -> None:
        """A question waits since `now`, by the clock of messages."""

    def files_found(self, event: up.FilesFound) -> None:
        """Files that fit what is typed."""

    def edit_memory(self, text: up.MemoryText) -> None:
        """A file of memory to be opened in an editor."""

    def skill_picked(self, name: str | None) -> None:
        """A skill to take up, or to put away."""

    def editing_told(self, event: up.EditPriced | up.MessagesListed) -> None:
        """What can be done with an entry, or what can be rewound to."""

    def take_back(self, event: up.Returned) -> None:
        """A message is the person's again."""

    def hints(self) -> list[Hint]:
        """The keys that matter now."""
        return []

    def show_hints(self) -> None:
        """Show the keys that matter now."""
        self.footer.show_keys(self.hints())

    def _tell_problems(self) -> None:
        """A session that goes on is seen at its end; what its opening lists is told there too."""
        opened = self.header.opened
        if opened is not None and (count := len(opened.problems)):
            found = "\n".join(problem.text for problem in opened.problems)
            noun = "problem" if count == 1 else "problems"
            self.tell("warning", f"{count} {noun} in the configuration", found)

    def _opened(self, opened: up.Opened) -> None:
        if self.header.opened is not None:
            self.prompt.forget_asked()  # whoever was asked is gone with the session before
        self.header.opened = opened
        self.header.redraw()
        self.transcript.begin(Opening(opened))
        self.use_keys(Keys(dict(opened.keys)))
        self.activity.end()
        self.notices.clear()
        self.queue.show((), running=False)
        self.prompt.has_waiting = False
        self.meter.state = None
        self.meter.nothing = "nothing is sent from here" if opened.read_only else EMPTY
        self.meter.redraw()
        holder = f"process {opened.holder_pid}" if opened.holder_pid else "another process"
        self.standing.set_worker("")
        self.standing.set_unsaved(up.Unsaved(count=0))
        self.standing.set_read_only(
            f"{holder} writes this session; it can be read here. /new begins another"
            if opened.read_only
            else ""
        )
        self.standing.set_withheld(ImagesWithheld(host=""))
        self.prompt.begin(opened.draft, opened.history, opened.draft_images)
        if self._lost:
            stopped = "; what it was doing is stopped, /continue goes on with it"
            self.tell(
                "warning",
                "the worker failed and was started again from the session's log"
                + (stopped if self._lost == "works" else ""),
            )
            self._lost = ""
        if opened.theme in self.app.available_themes:
            self.app.theme = opened.theme


def _new_in(changed: up.ModelChanged, before: up.Opened | None) -> str:
    """What is another now: the model, else its strategy, else something else of its entry."""
    if before is None or before.model != changed.model:
        return f"{changed.model} answers"
    if before.strategy != changed.strategy:
        return f"a full window means {changed.strategy}"
    return f"the new settings of {changed.model} count"
