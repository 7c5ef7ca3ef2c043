"""The list at the left of the settings: every model, every server, and what holds for all."""

from collections.abc import Sequence
from dataclasses import dataclass

from nodwyn_tui.link.settings import SettingsGroup
from nodwyn_tui.ui.widgets.lines import Line, Span, spread
from nodwyn_tui.ui.widgets.listing import Listed
from nodwyn_tui.ui.widgets.setting_rows import Heading, filled
from nodwyn_tui.ui.widgets.visible import one_line

Key = tuple[str, str]
"""A group's kind and name."""
ADD_MODEL: Key = ("add", "model")
ADD_SERVER: Key = ("add", "server")
_MARKS = {"lead": "leads", "fallback": "fallback", "": ""}


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRow:
    """A page that can be gone to; `end` is a word about it, `alarm` that something is wrong."""

    key: Key
    title: str
    end: str = ""
    alarm: bool = False
    marks: bool = True

    def lines(self, width: int, *, marked: bool, active: bool) -> list[Line]:
        mark = Span("▸ " if marked else "  ", "primary" if active else "dim")
        title = Span(one_line(self.title), "strong" if marked else "")
        end = [Span("! ", "error")] * self.alarm + [Span(self.end, "success")]
        row = spread((mark, title), end, width)
        return [Line(filled(row, width) if marked and active else row)]


def pages_of(groups: Sequence[SettingsGroup]) -> list[Listed]:
    """The groups in their order, under headings, and what adds a model among the models."""
    models = [group for group in groups if group.kind == "model"]
    servers = [group for group in groups if group.kind == "server"]
    others = [group for group in groups if group.kind not in ("model", "server")]
    pages: list[Listed] = [Heading("Models", blank=False)]
    pages += [_page(group) for group in models]
    pages.append(PageRow(key=ADD_MODEL, title="+ add a model"))
    pages += [Heading("Servers"), *(_page(group) for group in servers)]
    pages.append(PageRow(key=ADD_SERVER, title="+ add a server"))
    if others:
        pages += [Heading("For all"), *(_page(group) for group in others)]
    return pages


def first_page(groups: Sequence[SettingsGroup]) -> Key:
    """Where one begins: at the model that leads."""
    models = [group for group in groups if group.kind == "model"]
    leads = [group for group in models if group.mark == "lead"]
    return key_of(first) if (first := next(iter(leads or models), None)) else ADD_MODEL


def key_of(group: SettingsGroup) -> Key:
    """What a group is known by, whatever changes in it."""
    return group.kind, group.name


def _page(group: SettingsGroup) -> PageRow:
    return PageRow(
        key=key_of(group),
        title=group.title or group.name,
        end=_MARKS[group.mark] or ("new" if group.fresh else ""),
        alarm=any(row.problem for row in group.rows),
    )
