"""Keys as widgets have them: bindings by the table of `domain/keys.py`, with those that the person
changed, run in the order they were pressed, and their names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from textual import events
from textual.binding import Binding
from textual.dom import DOMNode
from textual.keys import format_key
from textual.widget import Widget

from nodwyn_tui.domain.keys import BY_ID, keys_now

_NEVER = "unbound"
"""A key that no terminal sends: Textual takes an empty text for no change."""
_NAMES = {
    "escape": "Esc",
    "enter": "Enter",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "tab": "Tab",
    "space": "Space",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "backspace": "Backspace",
    "delete": "Del",
    "home": "Home",
    "end": "End",
    "insert": "Ins",
}


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys that count. `changed` are those that are other than usual, by the binding's id."""

    changed: Mapping[str, str] = field(default_factory=dict)

    def names(self, id: str) -> tuple[str, ...]:
        """A binding's keys as they are written; none for one that is unbound."""
        return tuple(key_name(key) for key in self._keys(id))

    def name(self, id: str) -> str:
        """The first of them, '' for none."""
        return next(iter(self.names(id)), "")

    def short(self, id: str) -> str:
        """The same as the footer has it: `^P`, `⇧Tab`."""
        return short_name(next(iter(self._keys(id)), ""))

    def _keys(self, id: str) -> list[str]:
        return [key for key in keys_now(id, self.changed) if key != _NEVER]

    @property
    def keymap(self) -> dict[str, str]:
        """As Textual takes it."""
        return {id: keys or _NEVER for id, keys in self.changed.items()}


def keys_of(node: DOMNode) -> Keys:
    """The keys of the app that something is shown in."""
    return Keys(node.app._keymap)


def bound(id: str, action: str, *, priority: bool = False) -> Binding:
    """A binding of the table to an action of the widget's."""
    key = BY_ID[id]
    return Binding(key.keys, action, key.does, id=id, priority=priority)


def key_name(key: str) -> str:
    """A key as it is written: `ctrl+j` is `Ctrl+J`."""
    *held, last = [key] if len(key) == 1 else key.split("+")
    name = _NAMES.get(last) or (last.upper() if held or last[1:].isdigit() else format_key(last))
    return "+".join([*(word.capitalize() for word in held), name])


def short_name(key: str) -> str:
    """A key where there is little room."""
    if len(key) == len("ctrl+x") and key.startswith("ctrl+"):
        return f"^{key[-1].upper()}"
    held, _, last = key.rpartition("+")
    return f"⇧{key_name(last)}" if held == "shift" else key_name(key) if key else ""


async def run_binding(widget: Widget, event: events.Key) -> bool:
    """Run what a key is bound to in a widget, now; whether there was something to run. Left to
    bubble up to the app, a key that is a binding runs after the printable ones that followed it in
    the same burst.
    """
    bindings = widget._bindings
    if keymap := widget.app._keymap:
        bindings = bindings.copy()
        bindings.apply_keymap(keymap)
    for binding in bindings.key_to_bindings.get(event.key, ()):
        if await widget.app.run_action(binding.action, widget):
            event.stop()
            event.prevent_default()
            return True
    return False
