"""Questions of the assistant: when one takes the keyboard, and where its answer goes."""

from functools import partial

from nodwyn_tui.link import commands
from nodwyn_tui.ui.screens.commanding import Commanding
from nodwyn_tui.ui.screens.stage import QUIET_S
from nodwyn_tui.ui.widgets.transcript import Transcript


class Asking(Commanding):
    """Calls that wait are answered in the transcript; a refusal's reason is asked in the prompt."""

    _refusing: Transcript.Answered | None = None

    def offer_keyboard(self, now: float) -> None:
        """A question waits: it takes the keyboard, but never from somebody who is writing."""
        wait = QUIET_S - (now - self.prompt.last_key)
        if wait > 0:
            self.set_timer(wait, partial(self.offer_keyboard, now + wait))
        elif self.is_current and not self.prompt.text and not self.prompt.asks_reason:
            self.transcript.arm()

    def refuse(self, reason: str) -> None:
        """The reason for the refusal that was begun."""
        refusing, self._refusing = self._refusing, None
        if refusing is not None:
            call_id = refusing.asked.call_id
            self.bridge.send(commands.Answer(call_id=call_id, allow=False, reason=reason.strip()))

    def on_transcript_answered(self, message: Transcript.Answered) -> None:
        if message.word == "refuse":
            self._refusing = message
            self.prompt.ask_reason()
            self.show_hints()
            return
        scope = "once" if message.word == "allow" else message.word
        self.bridge.send(commands.Answer(call_id=message.asked.call_id, allow=True, scope=scope))

    def on_prompt_reason_ended(self) -> None:
        """Back to the questions, if any still wait."""
        if self.transcript.story.questions:
            self.transcript.focus(scroll_visible=False)
        self.show_hints()
