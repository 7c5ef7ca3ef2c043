"""The main screen: keys, and what the person does in its parts, routed to the worker."""

from functools import partial
from typing import ClassVar, get_args

from textual.binding import BindingType

from nodwyn_tui.domain.words import Mode, Pictures
from nodwyn_tui.link import commands
from nodwyn_tui.system.clock import Clock
from nodwyn_tui.ui import commands as slash
from nodwyn_tui.ui.bridge import Bridge
from nodwyn_tui.ui.screens.asking import Asking
from nodwyn_tui.ui.screens.help import Help
from nodwyn_tui.ui.widgets.activity import Doing
from nodwyn_tui.ui.widgets.editor import Editor
from nodwyn_tui.ui.widgets.footer import Hint
from nodwyn_tui.ui.widgets.keys import Keys, bound, keys_of
from nodwyn_tui.ui.widgets.notices import NoticeBar
from nodwyn_tui.ui.widgets.picturing import PicturingEditor
from nodwyn_tui.ui.widgets.prompt import Prompt
from nodwyn_tui.ui.widgets.questions import ANSWER_IDS
from nodwyn_tui.ui.widgets.transcript import Transcript

AGAIN_S = 2.0
"""Within it, a second Ctrl+C leaves."""


class Conversation(Asking):
    """Every key of it is a binding; help lists them from there."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("interrupt", "interrupt"),
        bound("mode", "cycle_mode", priority=True),
        bound("palette", "palette", priority=True),
        bound("settings", "settings", priority=True),
        bound("page_up", "scroll('up')", priority=True),
        bound("page_down", "scroll('down')", priority=True),
        bound("to_start", "scroll('begin')", priority=True),
        bound("to_end", "scroll('end')", priority=True),
        bound("tour", "tour", priority=True),
        bound("help", "help", priority=True),
        bound("confirm_images", "confirm_images", priority=True),
        bound("details", "details", priority=True),
        bound("leave", "copy_or_leave", priority=True),
    ]

    def __init__(self, bridge: Bridge, clock: Clock, pictures: Pictures, editor: str) -> None:
        super().__init__(bridge, clock, self.complete, pictures)
        self.editor = editor
        self._wanted_mode: Mode | None = None
        """The mode asked for last: from a refused one the next press goes on, not back to it."""
        self._leaves_next = False

    def hints(self) -> list[Hint]:
        """The keys that matter now, what matters most first."""
        return [(key, does) for key, does in self._hints(keys_of(self)) if key]

    def _hints(self, keys: Keys) -> list[Hint]:
        hints: list[Hint] = [("Esc", "stop")] if self.activity.busy else []
        asking = bool(self.transcript.story.questions)
        help_key, send = (keys.short("help"), "help"), keys.name("send")
        if self.prompt.gallery.marked is not None and self.prompt.has_focus:
            return [("Enter", "see it"), ("Backspace", "remove"), ("←→", "move"), help_key]
        if self.prompt.asks_reason:
            return [(send, "refuse it"), ("Esc", "back to the question")]
        if self.esc_again:
            return [("Esc", self.esc_again), *hints, (send, "send"), help_key]
        if self.transcript.has_focus:
            answers = [(_answer_keys(keys), "answer"), (keys.name("show_all"), "all of it")]
            hints += [("↑↓", "entries"), ("Enter", "open")]
            if not self.activity.busy:
                hints.append((keys.short("drop"), "drop, fold"))
            return [*(answers if asking else ()), *hints, ("Tab", "write")]
        if asking:
            hints.insert(0, ("Tab", "answer the question"))
        if self.tour_offered:
            hints.append((keys.name("tour"), "tour"))
        if self.awaits_confirmation:
            hints.insert(0, (keys.short("confirm_images"), "confirm images"))
        if self.activity.busy:
            hints += [(send, "queue"), (keys.name("steer"), "send in")]
        else:
            hints.append((send, "send"))
        return [
            *hints,
            (keys.short("mode"), "mode"),
            (keys.short("palette"), "commands"),
            (keys.short("settings"), "settings"),
            help_key,
            ("^C^C", "leave"),
        ]

    def on_prompt_submitted(self, message: Prompt.Submitted) -> None:
        if message.reason:
            self.refuse(message.text)
            return
        match slash.read(message.text, tour=self.tour_offered):
            case slash.Invocation() as invocation:
                self.prompt.attach(message.images)
                self.invoke(invocation)
            case slash.Unknown(why):
                self._not_now(message, why)
            case None if self.bridge.lost:
                self.prompt.put_back([message.text], message.images)
                self.bridge.try_again()
                self.follow_bridge()
            case None if why_not := self._why_not():
                self._not_now(message, why_not)
            case None:
                self.notices.clear()
                self.prompt.remember(message.text)
                self.transcript.action_scroll_end()
                images = tuple(image.sha256 for image in message.images)
                self.bridge.send(
                    commands.Send(text=message.text, steer=message.steer, images=images)
                )

    def on_prompt_draft_changed(self, message: Prompt.DraftChanged) -> None:
        self.bridge.send(commands.SaveDraft(text=message.text, images=message.images))

    def on_completing_editor_offered(self, message: Prompt.Offered) -> None:
        self.offers.offer(message.completions, message.chosen)

    def on_prompt_left(self) -> None:
        self.transcript.focus(scroll_visible=False)

    def on_story_pane_bodies_wanted(self, message: Transcript.BodiesWanted) -> None:
        self.bridge.send(commands.FetchBodies(ids=message.ids))

    def on_story_pane_page_wanted(self, message: Transcript.PageWanted) -> None:
        self.bridge.send(commands.FetchPage(before=message.edge.before, after=message.edge.after))

    def on_transcript_copy_wanted(self, message: Transcript.CopyWanted) -> None:
        self.copy(message.text)

    def on_transcript_address_clicked(self, message: Transcript.AddressClicked) -> None:
        if message.address.startswith(("http://", "https://")):
            self.app.open_url(message.address)
        else:
            self.tell("warning", f"only web addresses are opened, not {message.address}")

    def on_transcript_typed(self, message: Transcript.Typed) -> None:
        self.prompt.focus()
        self.prompt._forward_event(message.event)

    def on_notice_bar_clicked(self, message: NoticeBar.Clicked) -> None:
        message.stop()
        self.action_details()

    def action_interrupt(self) -> None:
        """Stop what goes on; if nothing does, back to the prompt."""
        if self.activity.busy:
            self.activity.do(Doing("stops"))
            self.bridge.send(commands.Interrupt())
        elif not self.again():
            self.notices.clear()
            self.prompt.focus()

    def action_cycle_mode(self) -> None:
        """Ask for the mode after the one asked for last."""
        opened = self.header.opened
        if opened is not None:
            order: tuple[Mode, ...] = get_args(Mode)
            last = self._wanted_mode or opened.mode
            self._wanted_mode = order[(order.index(last) + 1) % len(order)]
            self.bridge.send(commands.SetMode(mode=self._wanted_mode))

    def action_scroll(self, where: str) -> None:
        """Scroll the conversation."""
        match where:
            case "up":
                self.transcript.action_page_up()
            case "down":
                self.transcript.action_page_down()
            case "begin":
                self.transcript.action_scroll_home()
            case _:
                self.transcript.action_scroll_end()

    def action_help(self) -> None:
        """All keys and commands."""
        groups = (
            ("Anywhere", self.BINDINGS),
            ("Writing", (*Prompt.BINDINGS, *PicturingEditor.BINDINGS, *Editor.BINDINGS)),
            ("In the conversation (Tab)", Transcript.BINDINGS),
        )
        self.app.push_screen(Help(groups, slash.offered(tour=self.tour_offered)))

    def action_details(self) -> None:
        """More about the latest remark."""
        if self.notices.notice is not None:
            self.show_detail(self.notices.notice)

    def action_copy_or_leave(self) -> None:
        """Copy what is selected; else leave at the second press."""
        selected = self.transcript.selected_text() or self.prompt.selected_text
        if selected:
            self.copy(selected)
        elif self._leaves_next:
            self.leave()
        else:
            self._leaves_next = True
            self.set_timer(AGAIN_S, partial(setattr, self, "_leaves_next", False))
            self.tell("info", "Ctrl+C again leaves; the session can be resumed")

    def _why_not(self) -> str:
        """Why no message can be sent, '' if one can."""
        opened = self.header.opened
        if opened is None:
            return ""
        if opened.read_only:
            return (
                "another process writes this session, so nothing can be sent; /new begins another"
            )
        tour = keys_of(self).name("tour") or "/tour"
        return "" if opened.model else f"no model is set up yet: /setup picks one, {tour} is a tour"

    def _not_now(self, message: Prompt.Submitted, why: str) -> None:
        """What was submitted stands in the prompt again."""
        self.prompt.put_back([message.text], message.images)
        self.tell("warning", why)


def _answer_keys(keys: Keys) -> str:
    """The keys that answer a question, in one hint."""
    return " ".join(filter(None, map(keys.name, ANSWER_IDS)))
