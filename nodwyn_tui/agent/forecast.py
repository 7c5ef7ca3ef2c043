"""What the provider's cache should hold, from what was sent before (ENG-28)."""

from collections.abc import Collection, Sequence
from datetime import datetime

from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import ReplayError
from nodwyn_tui.providers.cache_life import cache_life
from nodwyn_tui.system.clock import moment
from nodwyn_tui.window import prefix, prompts
from nodwyn_tui.window.build import Shape, Window
from nodwyn_tui.window.prefix import Cache, New, Prediction
from nodwyn_tui.window.prompts import HEAD, Prompt, Sent, prompt_of
from nodwyn_tui.window.replay import replay
from nodwyn_tui.window.watch import Watch

Exchange = tuple[ev.LlmRequest, ev.LlmResponse]


class Forecast:
    """Follows a session event by event, and predicts the next request's cached tokens. What it
    holds does not grow with the session.
    """

    def __init__(self, rewriting: Collection[str] = ()) -> None:
        """`rewriting` are origins whose template is known to leave earlier thinking out."""
        self._watch = Watch()
        self._seen = 0
        self._sent: list[Sent] = []
        self._asked: dict[int, ev.LlmRequest] = {}
        self._prompts: dict[int, Prompt] = {}
        self._untraced: dict[str, tuple[Exchange, Exchange]] = {}
        """By origin, exchanges of an earlier process, whose prompts are not known: that which the
        last run began with, and the last."""
        self._rewriting = {*rewriting}
        self._last_origin = ""

    def feed(self, event: ev.Event) -> None:
        """Takes the next event of the log. One that was taken already is passed over."""
        if event.seq <= self._seen:
            return
        self._seen = event.seq
        self._watch.feed(event)
        match event:
            case ev.LlmRequest():
                self._asked[event.seq] = event
                if event.prefix_ended_by == prefix.TEMPLATE:
                    self._rewriting.add(event.model.origin)
            case ev.LlmResponse() if event.req in self._asked:
                self._answered(self._asked.pop(event.req), event)
            case ev.LlmError():
                self._asked.pop(event.req, None)
                self._prompts.pop(event.req, None)
            case ev.Note(why=prefix.TEMPLATE):
                self._rewriting.add(self._last_origin)
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
        for request, reply in self._to_rebuild():
            try:
                window = replay(events, request.seq)
            except ReplayError:
                continue  # it needs an event that is not there; nothing is predicted from it
            self._keep(request, prompt_of(window), reply)
        self._forget_rebuilt()

    def predict(
        self, window: Window, target: Target, shape: Shape, now: datetime
    ) -> tuple[Prediction, Prompt]:
        """The prediction for a request that is sent `now`, and its prompt for `sent`."""
        origin, prompt = target.ref.origin, prompt_of(window)
        new = New(
            prompt=prompt,
            origin=origin,
            parameters=target.parameters,
            trimmed=_first_elided(window),
            withheld=frozenset(shape.withheld.items()),
            unmarked=_replies(window) if target.marks_no_reply else frozenset(),
        )
        cache = Cache(
            one_slot=target.one_slot,
            asked=target.asks_for_cache,
            expired=self._has_expired(target, now),
            rewrites=origin in self._rewriting,
        )
        return prefix.predict(self._sent, new, self._watch, cache), prompt

    def sent(self, request: ev.LlmRequest, prompt: Prompt) -> None:
        """A request went out; its reply will say what the prompt was."""
        self._prompts[request.seq] = prompt

    def _has_expired(self, target: Target, now: datetime) -> bool:
        """Whether the server has likely let go of all since the last reply."""
        last = next((s for s in reversed(self._sent) if s.origin == target.ref.origin), None)
        if last is None or (at := moment(last.at)) is None:
            return False
        life = cache_life(target.ref.provider, last.parameters)
        return life is not None and (now - at).total_seconds() >= life

    def _answered(self, request: ev.LlmRequest, reply: ev.LlmResponse) -> None:
        self._last_origin = request.model.origin
        origin, prompt = request.model.origin, self._prompts.pop(request.seq, None)
        if prompt is not None:
            self._untraced.pop(origin, None)
            self._keep(request, prompt, reply)
            return
        began, _ = self._untraced.get(origin, ((request, reply), None))
        began = began if began[0].run == request.run else (request, reply)
        self._untraced[origin] = (began, (request, reply))
        self._watch_only_these()

    def _to_rebuild(self) -> list[Exchange]:
        """The last exchange with each origin, and that which its run began with where a template
        makes the next request go back to it; in the order of the log.
        """
        found = {last[0].seq: last for _, last in self._untraced.values()}
        found |= {
            began[0].seq: began
            for origin, (began, _) in self._untraced.items()
            if origin in self._rewriting
        }
        return [found[seq] for seq in sorted(found)]

    def _keep(self, request: ev.LlmRequest, prompt: Prompt, reply: ev.LlmResponse) -> None:
        sent = prompts.sent(request, prompt, reply.usage.prompt_tokens, reply.at)
        self._sent = prompts.remember(self._sent, sent)
        self._watch_only_these()

    def _forget_rebuilt(self) -> None:
        known = {sent.seq for sent in self._sent}
        for origin, (_, (last, _)) in list(self._untraced.items()):
            if last.seq in known:
                del self._untraced[origin]

    def _watch_only_these(self) -> None:
        untraced = (each[0].seq for pair in self._untraced.values() for each in pair)
        self._watch.keep({*(sent.seq for sent in self._sent), *untraced, *self._asked})


def _replies(window: Window) -> frozenset[int]:
    """The counts of pieces that end with a reply."""
    entries = enumerate(window.entries, HEAD + 1)
    return frozenset(count for count, entry in entries if entry.kind == "assistant")


def _first_elided(window: Window) -> int | None:
    """How many pieces stand before the first that the request newly elides; `None` for none."""
    newly = frozenset(window.newly)
    elided = (HEAD + at for at, entry in enumerate(window.entries) if entry.seq in newly)
    return next(elided, None) if newly else None
