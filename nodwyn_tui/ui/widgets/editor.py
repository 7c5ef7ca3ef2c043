"""A text area in which large pastes are one unbreakable stand-in, and keys keep their order."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import BindingType
from textual.document._document import EditResult, Location, Selection
from textual.document._edit import Edit
from textual.widgets import TextArea

from nodwyn_tui.ui.widgets.keys import bound, run_binding
from nodwyn_tui.ui.widgets.painting import painter_for
from nodwyn_tui.ui.widgets.pastes import Pastes, clean, is_large


class Editor(TextArea):
    """`whole_text` is its text with what the stand-ins stand for."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bound("unfold", "unfold"),
        # Textual's own, named here so that help lists them.
        bound("undo", "undo"),
        bound("redo", "redo"),
        bound("word_left", "cursor_word_left"),
        bound("word_right", "cursor_word_right"),
        bound("delete_word", "delete_word_left"),
        bound("delete_to_start", "delete_to_start_of_line"),
        bound("delete_to_end", "delete_to_end_of_line_or_delete_line"),
    ]

    def __init__(self, *, id: str | None = None, placeholder: str = "") -> None:
        self.pastes = Pastes()
        self.last_key = float("-inf")
        """When a key came last, by the clock of messages."""
        super().__init__(
            id=id, placeholder=placeholder, highlight_cursor_line=False, soft_wrap=True
        )
        self.match_cursor_bracket = False
        self.cursor_blink = False

    @property
    def whole_text(self) -> str:
        """What is to be sent."""
        return self.pastes.whole(self.text)

    def set_text(self, text: str) -> None:
        """Start again with a text, its end at the cursor."""
        self.pastes = Pastes()
        text = clean(text)
        self.load_text(self.folded(text))
        self.move_cursor(self.document.end)

    def edit(self, edit: Edit) -> EditResult:
        """A change that touches a stand-in takes it whole."""
        start, end = edit.top, edit.bottom
        if start == end:
            start = end = self._edge(start, forward=True)
        else:
            start, end = self._edge(start, forward=False), self._edge(end, forward=True)
        result = super().edit(Edit(edit.text, start, end, edit.maintain_selection_offset))
        self.edited(start, end, result.end_location)
        return result

    def edited(self, start: Location, end: Location, now: Location) -> None:
        """What stood from `start` to `end` was replaced, and ends at `now`."""

    def folded(self, text: str) -> str:
        """A text as it is pasted: what is large is a stand-in."""
        return self.pastes.fold(text) if is_large(text) else text

    def paste(self, text: str) -> None:
        """A text in place of what is selected."""
        result = self.replace(self.folded(text), *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def get_line(self, line_index: int) -> Text:
        """A line with its stand-ins marked."""
        line = super().get_line(line_index)
        for start, end in self.pastes.spans(line.plain):
            line.stylize(painter_for(self).style("key chosen"), start, end)
        return line

    def action_unfold(self) -> None:
        """Put what the stand-in at the cursor stands for in its place."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        for start, end in self.pastes.spans(line):
            if start <= column <= end:
                text = self.pastes.text_of(line[start:end])
                self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
                return

    def action_delete_to_start_of_line(self) -> None:
        """To the start of the line as it was written, not of the row that it is wrapped to; there,
        the line's own break.
        """
        row, column = self.selection.end
        start = (row, 0) if column else self.get_cursor_left_location()
        self._delete_via_keyboard(start, self.selection.end)

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        """Likewise to its end."""
        row, column = self.selection.end
        end = row, len(self.document.get_line(row))
        end = end if column < end[1] else self.get_cursor_right_location()
        self._delete_via_keyboard(self.selection.end, end)

    def _watch_show_vertical_scrollbar(self) -> None:
        """Later than Textual, which looks for the cursor where an undo has just taken its line."""
        if self.wrap_width:
            self._rewrap_and_refresh_virtual_size()
        self.call_after_refresh(self.scroll_cursor_visible)

    def _validate_selection(self, selection: Selection) -> Selection:
        """The cursor passes over a stand-in, it does not enter it."""
        start, end = super()._validate_selection(selection)
        forward = end >= self.selection.end
        return Selection(self._edge(start, forward=forward), self._edge(end, forward=forward))

    def _edge(self, location: Location, *, forward: bool) -> Location:
        """A location inside a stand-in moved to one of its edges."""
        row, column = location
        if row < self.document.line_count:
            for start, end in self.pastes.spans(self.document.get_line(row)):
                if start < column < end:
                    return row, end if forward else start
        return location

    async def _on_key(self, event: events.Key) -> None:
        self.last_key = event.time
        self.call_next(self._paint_now)
        await run_binding(self, event)

    def _paint_now(self) -> None:
        """Show what the key did at once: the screen's own beat may be two ticks away (PERF-2)."""
        screen = self.screen
        if screen.is_current and not (self._layout_required or screen._layout_required):
            screen._compositor.update_widgets({self})
            screen._compositor_refresh()

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        if text := clean(event.text):
            self.paste(text)
