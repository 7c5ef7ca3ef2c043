"""What a compaction would change, in rows: what goes, what stays, what asking cost (TUI-15)."""

from collections.abc import Iterator, Sequence

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.link.events import CompactionOffered, Portion
from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, cut, wrap
from nodwyn_tui.ui.widgets.visible import one_line

BYTES_PER_TOKEN = 3
"""As the engine estimates."""
_HEAD = 7
"""Cells of a row's first word."""


class CompactionFacts(Bar):
    """`written` is the note as it stands."""

    def __init__(self, offer: CompactionOffered, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.offer = offer
        self.written = offer.note

    @property
    def after(self) -> int:
        """Tokens that the window would begin with, the note as it stands."""
        longer = len(self.written.encode()) - len(self.offer.note.encode())
        return max(self.offer.after + longer // BYTES_PER_TOKEN, 0)

    def bar_rows(self, width: int) -> Iterator[Row]:
        offer = self.offer
        yield cut(
            [
                Span(tokens(offer.before), "strong"),
                Span(" tokens → "),
                Span(tokens(self.after), "strong"),
                Span(" in the new window (estimated)", "dim"),
            ],
            width,
        )
        goes = [f"{part.count:,} {_portion(part)}" for part in offer.goes]
        yield from _row("goes", "warning", goes, width)
        yield from _row("stays", "success", [_portion(part) for part in offer.stays], width)
        yield from _row("costs", "dim", list(_costs(offer, self.after)), width)


def _row(head: str, role: str, parts: Sequence[str], width: int) -> Iterator[Row]:
    """A word, and its parts behind it, in as many rows as they need."""
    text = Span(one_line(" · ".join(parts)), "dim")
    for number, row in enumerate(wrap([text], width - _HEAD)):
        first = Span(head.ljust(_HEAD), role) if number == 0 else Span(" " * _HEAD)
        yield (first, *row)


def _portion(part: Portion) -> str:
    return f"{part.label} {tokens(part.tokens)}"


def _costs(offer: CompactionOffered, after: int) -> Iterator[str]:
    """What asking for the note cost, as far as it was reported, and what comes of it."""
    usage = offer.usage
    if offer.own:
        yield "nothing: there was no room to ask the model, so the program wrote the note"
    elif usage is None or usage.prompt_tokens is None:
        yield "unknown: the server reported no usage"
    else:
        cached = ""
        if usage.cached_tokens is not None and usage.prompt_tokens:
            cached = f" ({usage.cached_tokens / usage.prompt_tokens:.0%} from the cache)"
        yield f"read {tokens(usage.prompt_tokens)}{cached}"
        if usage.output_tokens is not None:
            yield f"wrote {tokens(usage.output_tokens)}"
        if usage.cost_usd is not None:
            yield f"${usage.cost_usd:,.4f}"
    prefix = offer.stays[0].tokens if offer.stays else 0
    yield f"the next request reads {tokens(max(after - prefix, 0))} anew"
