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


class Forecast:
    """Follows requests and replies; predicts the next request's cached tokens."""

    def __init__(self) -> None:
        self._sent: list[Sent] = []
        self._ratios: dict[str, float] = {}
        self._pending: tuple[ev.LlmRequest, Trail] | None = None

    def recall(self, events: Sequence[ev.Event]) -> None:
        """What earlier processes sent last to each origin, rebuilt: a resume predicts too."""
        replies = {event.req: event for event in events if isinstance(event, ev.LlmResponse)}
        latest: dict[str, ev.LlmRequest] = {}
        for event in events:
            if isinstance(event, ev.LlmRequest) and event.seq in replies:
                latest[event.model.origin] = event
                self._calibrate(event, replies[event.seq])
        for request in sorted(latest.values(), key=lambda event: event.seq):
            try:
                window = replay(events, request.seq)
            except ReplayError:
                continue  # it needs a lost event; nothing is predicted from it
            self._keep(request, window.trail, replies[request.seq])

    def predict(
        self, window: Window, target: Target, events: Sequence[ev.Event]
    ) -> tuple[Prediction, Trail]:
        """The prediction for a request, and its trail for `sent`."""
        made = window.trail
        prediction = prefix.predict(
            self._sent,
            made,
            (target.ref.origin, target.parameters),
            events,
            one_slot=target.one_slot,
            trimmed=bool(window.newly),
        )
        return prediction, made

    def sent(self, request: ev.LlmRequest, made: Trail) -> None:
        """A request went out; its reply will say what the prompt was."""
        self._pending = (request, made)

    def answered(self, reply: ev.LlmResponse) -> None:
        """The reply to it."""
        if self._pending is not None:
            request, made = self._pending
            self._keep(request, made, reply)
            self._calibrate(request, reply)
            self._pending = None

    def failed(self) -> None:
        """It got no reply."""
        self._pending = None

    def calibration(self, origin: str) -> float:
        """The server's count of a prompt over our estimate of it, at most so far; 1.0 unknown. No
        tokenizer makes more than one token of a byte: a count beyond that is no count.
        """
        return self._ratios.get(origin, 1.0)

    def _keep(self, request: ev.LlmRequest, made: Trail, reply: ev.LlmResponse) -> None:
        sent = prefix.sent(request, made, reply.usage.prompt_tokens)
        self._sent = prefix.remember(self._sent, sent)

    def _calibrate(self, request: ev.LlmRequest, reply: ev.LlmResponse) -> None:
        if reply.usage.prompt_tokens:
            ratio = min(reply.usage.prompt_tokens / max(request.estimate, 1), BYTES_PER_TOKEN)
            origin = request.model.origin
            self._ratios[origin] = max(self._ratios.get(origin, 0.0), ratio)
