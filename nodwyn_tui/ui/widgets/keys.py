"""Keys in the order they were pressed. Left to bubble up to the app, a key that is a binding runs
after the printable ones that followed it in the same burst.
"""

from textual import events
from textual.widget import Widget


async def run_binding(widget: Widget, event: events.Key) -> bool:
    """Run what a key is bound to in a widget, now; whether there was something to run."""
    for binding in widget._bindings.key_to_bindings.get(event.key, ()):
        if await widget.app.run_action(binding.action, widget):
            event.stop()
            event.prevent_default()
            return True
    return False
