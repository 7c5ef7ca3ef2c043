"""The person's web browser: the only door to it."""

import contextlib
import webbrowser


def open_page(address: str) -> None:
    """Opens a page, if there is anything to open it with. May last until the person closes it."""
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(address, new=1)
