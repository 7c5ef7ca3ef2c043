"""A file in the person's own editor, while the screen makes way."""

from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from nodwyn_tui.errors import StoreError
from nodwyn_tui.system.atomic import make_private_dir
from nodwyn_tui.system.editor import open_file


def edited(app: App[Any], editor: str, path: Path) -> str:
    """Opens a file, which need not be there yet; what went wrong, '' for nothing."""
    try:
        make_private_dir(path.parent)
        with app.suspend():
            return open_file(editor, path)
    except StoreError as error:
        return str(error)
    except SuspendNotSupported:
        return f"no editor can be opened from here: edit {path} in one of yours"
