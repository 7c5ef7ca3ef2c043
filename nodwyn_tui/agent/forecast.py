"""What the provider's cache should hold, from what was sent before (ENG-28), and how far its own
counts of a prompt were from the estimate.
"""

from collections.abc import Sequence

from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.window import prefix
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.entries import BYTES_PER_TOKEN
from nodwyn_tui.window.prefix import Prediction, Sent
from nodwyn_tui.window.replay import replay
from nodwyn_tui.window.tape import Trail
from nodwyn_tui.window.watch import Watch

Exchange = tuple[ev.LlmRequest, ev.LlmResponse]


class Forecast:
    """Follows a session event by event, and predicts the next request's cached tokens. What it
    holds does not grow with the session.
    """

    def __init__(self) -> None:
        self._watch = Watch()
        self._seen = 0
        self._sent: list[Sent] = []
        self._asked: dict[int, ev.LlmRequest] = {}
        self._trails: dict[int, Trail] = {}
        self._untraced: dict[str, Exchange] = {}
        """By origin, the last exchange of an earlier process: its prompt is not known."""
        self._ratios: dict[str, float] = {}

    def feed(self, event: ev.Event) -> None:
        """Takes the next event of the log. One that was taken already is passed over."""
        if event.seq <= self._seen:
            return
        self._seen = event.seq
        self._watch.feed(event)
        match event:
            case ev.LlmRequest():
                self._asked[event.seq] = event
            case ev.LlmResponse() if event.req in self._asked:
                self._answered(self._asked.pop(event.req), event)
            case ev.LlmError():
                self._asked.pop(event.req, None)
                self._trails.pop(event.req, None)
            case ev.SessionResume():
                self._asked.clear()  # what an earlier process left open gets no reply any more
            case _:
                pass

    def recall(self, events: Sequence[ev.Event]) -> None:
        """What earlier processes sent last to each origin, as far as `events` rebuild it: a resume
        predicts too.

        They are all that those requests' windows need, their replies, and what came behind them, in
        order; an earlier part of the log must be recalled before a later one is fed.
        """
        for event in events:
            self.feed(event)
        for request, reply in sorted(self._untraced.values(), key=lambda each: each[0].seq):
            try:
                window = replay(events, request.seq)
            except ReplayError:
                continue  # it needs an event that is not there; nothing is predicted from it
            self._keep(request, window.trail, reply)

    def predict(self, window: Window, target: Target) -> tuple[Prediction, Trail]:
        """The prediction for a request, and its trail for `sent`."""
        made = window.trail
        prediction = prefix.predict(
            self._sent,
            made,
            (target.ref.origin, target.parameters),
            self._watch,
            one_slot=target.one_slot,
            trimmed=bool(window.newly),
        )
        return prediction, made

    def sent(self, request: ev.LlmRequest, made: Trail) -> None:
        """A request went out; its reply will say what the prompt was."""
        self._trails[request.seq] = made

    def calibration(self, origin: str) -> float:
        """The server's count of a prompt over our estimate of it, at most so far; 1.0 unknown. No
        tokenizer makes more than one token of a byte: a count beyond that is no count.
        """
        return self._ratios.get(origin, 1.0)

    def _answered(self, request: ev.LlmRequest, reply: ev.LlmResponse) -> None:
        self._calibrate(request, reply)
        made = self._trails.pop(request.seq, None)
        if made is not None:
            self._keep(request, made, reply)
            return
        self._untraced[request.model.origin] = (request, reply)
        self._watch_only_these()

    def _keep(self, request: ev.LlmRequest, made: Trail, reply: ev.LlmResponse) -> None:
        self._untraced.pop(request.model.origin, None)
        sent = prefix.sent(request, made, reply.usage.prompt_tokens)
        self._sent = prefix.remember(self._sent, sent)
        self._watch_only_these()

    def _watch_only_these(self) -> None:
        untraced = (request.seq for request, _ in self._untraced.values())
        self._watch.keep({*(sent.seq for sent in self._sent), *untraced, *self._asked})

    def _calibrate(self, request: ev.LlmRequest, reply: ev.LlmResponse) -> None:
        if reply.usage.prompt_tokens:
            ratio = min(reply.usage.prompt_tokens / max(request.estimate, 1), BYTES_PER_TOKEN)
            origin = request.model.origin
            self._ratios[origin] = max(self._ratios.get(origin, 0.0), ratio)
