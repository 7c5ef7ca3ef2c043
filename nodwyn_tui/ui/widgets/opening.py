"""What stands at the top of a session: where it is, what is wrong, and what to do first."""

from collections.abc import Iterator

from nodwyn_tui import __version__
from nodwyn_tui.link.events import Opened
from nodwyn_tui.ui.widgets.header import MODES, short_path
from nodwyn_tui.ui.widgets.keys import Keys
from nodwyn_tui.ui.widgets.lines import BLANK, Line, Span, expand_tabs, wrap
from nodwyn_tui.ui.widgets.visible import visible

_POINT = "· "
"""What begins one way out of several."""


class Opening:
    """The opening of a session, laid out for any width."""

    def __init__(self, opened: Opened | None = None) -> None:
        self._opened = opened

    def __call__(self, width: int, keys: Keys) -> list[Line]:
        opened = self._opened
        if opened is None:
            return [BLANK]
        lines = [BLANK, *_title(opened, width)]
        if opened.problems:
            lines += [BLANK, *_problems(opened, width)]
        if not opened.model:
            lines += [BLANK, *_setup(opened, width, keys)]
        else:
            lines += [BLANK, *_first_steps(opened, width, keys)]
        return lines


def _title(opened: Opened, width: int) -> Iterator[Line]:
    yield Line((Span("nodwyn", "heading"), Span(f" {__version__}", "dim")))
    branch = f" · {visible(opened.branch)}" if opened.branch else ""
    place = short_path(opened.workspace, width - len(branch))
    yield from _wrapped([Span(place), Span(branch, "secondary")], width)
    for told in opened.instructions:
        yield from _wrapped([Span(visible(told), "dim")], width)


def _problems(opened: Opened, width: int) -> Iterator[Line]:
    count = len(opened.problems)
    head = "A problem" if count == 1 else f"{count} problems"
    yield Line((Span(f"{head} in the configuration", "warning strong"),))
    for problem in opened.problems:
        mark = Span("! ", "warning") if problem.warning else Span("✗ ", "error")
        for row in visible(problem.text).split("\n"):
            yield from _wrapped([Span(row)], width, mark)
            mark = Span("  ")


def _setup(opened: Opened, width: int, keys: Keys) -> Iterator[Line]:
    yield Line((Span("No model is set up yet", "accent strong"),))
    ways = [Span("/setup", "key"), Span(" finds one or takes a key · ")]
    tour = [Span(keys.name("tour") or "/tour", "key"), Span(" is the tour: a scripted guide")]
    yield from _wrapped([*ways, *tour], width)
    yield BLANK
    for row in expand_tabs(visible(opened.setup)).split("\n"):
        text = row.removeprefix(_POINT)
        yield from _wrapped([Span(text)], width, Span(_POINT, "dim") if text != row else None)


def _first_steps(opened: Opened, width: int, keys: Keys) -> Iterator[Line]:
    if opened.tour:
        text = "This is the tour: a scripted guide answers here, not a model. Try what you like."
        yield from _wrapped([Span(text, "accent")], width)
        yield BLANK
    means = MODES[opened.mode][1]
    mode = [Span("Mode "), Span(opened.mode, MODES[opened.mode][0]), Span(f": {means}.", "dim")]
    yield from _wrapped([*mode, Span(f" {keys.name('mode') or '/mode'} changes it.", "dim")], width)
    yield BLANK
    for key, what in _first_keys(keys):
        yield from _wrapped([Span(what, "dim")], width, Span(f"{key:<7}", "key"))


def _first_keys(keys: Keys) -> Iterator[tuple[str, str]]:
    send, line_break = keys.name("send"), keys.name("line_break")
    help_key = keys.name("help")
    yield send, f"sends, {line_break} breaks the line"
    yield "/", f"lists the commands, @ finds a file, {help_key or '/help'} all keys"
    yield keys.name("interrupt"), "stops what goes on"
    yield keys.name("complete"), "goes to the conversation and back"


def _wrapped(spans: list[Span], width: int, head: Span | None = None) -> Iterator[Line]:
    lead = len(head.text) if head else 0
    for n, row in enumerate(wrap(spans, width - lead)):
        start = (head if n == 0 else Span(" " * lead),) if head else ()
        yield Line((*start, *row), soft=n > 0)
