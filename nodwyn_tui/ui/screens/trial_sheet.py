"""Trying a model out: what it costs, asked first, and what was found (PRV-12)."""

from collections.abc import Callable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from nodwyn_tui.link.commands import Command
from nodwyn_tui.link.settings import StopTrial, TestModel, TrialEnded, TrialPriced, TrialStep
from nodwyn_tui.ui.widgets.bar import Bar, Row
from nodwyn_tui.ui.widgets.lines import Span, wrap
from nodwyn_tui.ui.widgets.visible import one_line

_MARKS = {True: ("✓", "success"), False: ("✗", "error"), None: ("?", "warning")}
_LEAST = 0.0001
_SUBTITLES = {
    "prices": "Esc puts this away",
    "asks": "Enter tests it · Esc does not",
    "runs": "Esc stops it",
    "over": "Esc puts this away",
}


class TrialSheet(ModalScreen[None]):
    """Nothing is sent before Enter."""

    CSS_PATH = "../styles/settings.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c", "stop", "stop it; else put this away"),
        Binding("enter", "agree", "test it at that price"),
        Binding("up", "scroll(-1)", "a row up"),
        Binding("down", "scroll(1)", "a row down"),
    ]

    def __init__(self, model: str, send: Callable[[Command], None]) -> None:
        super().__init__()
        self.model, self._send = model, send
        self.state = "prices"
        self._frame = VerticalScroll(classes="settings-frame", can_focus=False)
        self._findings = _Findings(id="findings")

    def compose(self) -> ComposeResult:
        with self._frame:
            self._frame.border_title = one_line(f"Test of {self.model}")
            yield self._findings

    def on_mount(self) -> None:
        self._become("prices")
        self._send(TestModel(model=self.model))

    def take(self, event: TrialPriced | TrialStep | TrialEnded) -> None:
        """What the worker tells of the trial."""
        match event:
            case TrialPriced():
                self._findings.priced = event
                if self.state == "prices":
                    self._become("asks")
            case TrialStep():
                self._findings.steps.append(event)
            case TrialEnded():
                self._findings.ended = event
                self._become("over")
        self._findings.redraw()
        self.call_after_refresh(self._frame.scroll_end, animate=False)

    def action_agree(self) -> None:
        """Test it."""
        if self.state == "asks":
            self._send(TestModel(model=self.model, agreed=True))
            self._become("runs")
        elif self.state == "over":
            self.dismiss(None)

    def action_stop(self) -> None:
        """Stop it, if it runs; else put this away."""
        if self.state == "runs":
            self._send(StopTrial())
            self._become("over")
        else:
            self.dismiss(None)

    def action_scroll(self, rows: int) -> None:
        """Through many findings."""
        self._frame.scroll_relative(y=rows, animate=False)

    def _become(self, state: str) -> None:
        self.state = self._findings.state = state
        self._frame.border_subtitle = _SUBTITLES[state]
        self._findings.redraw()


class _Findings(Bar):
    """The price, then what is found, as it comes."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.state = "prices"
        self.priced: TrialPriced | None = None
        self.steps: list[TrialStep] = []
        self.ended: TrialEnded | None = None

    def bar_rows(self, width: int) -> Iterator[Row]:
        yield from wrap([Span(price(self.priced) if self.priced else "…", "dim")], width)
        for step in self.steps:
            mark, role = _MARKS[step.good]
            said = [Span(f"{mark} ", role), Span(one_line(step.label))]
            if step.detail:
                said.append(Span(f"  {one_line(step.detail)}", "dim"))
            for n, row in enumerate(wrap(said, width - 2)):
                yield row if n == 0 else (Span("  "), *row)
        if self.state == "runs":
            yield (Span("…  tests", "dim"),)
        elif self.ended is not None and self.ended.error:
            yield from wrap([Span("✗ ", "error"), Span(one_line(self.ended.error), "error")], width)
            yield from wrap([Span(one_line(self.ended.remedy), "dim")], width)
        elif self.state == "over":
            yield (Span("Done." if self.ended else "Stopped.", "dim"),)


def price(priced: TrialPriced) -> str:
    """What a trial sends and costs at most, in words."""
    cost = priced.cost_usd
    dollars = "an unknown price" if cost is None else f"at most ${max(cost, _LEAST):.4f}"
    if cost == 0:
        dollars = "nothing"
    return (
        f"It sends two small requests, about {priced.prompt_tokens:,} tokens, and costs {dollars}."
    )
