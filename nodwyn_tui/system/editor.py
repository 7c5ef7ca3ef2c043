"""The person's text editor, in their terminal: the only door to it."""

import shlex
import signal
import subprocess
from pathlib import Path

SET = "set VISUAL or EDITOR to your editor's command"


def open_file(command: str, path: Path) -> str:
    """Opens a file, and waits until the editor has ended; what went wrong, '' for nothing. The
    terminal must be free for it.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        return f"{command!r} is no command ({error}): {SET}"
    if not words:
        return f"no editor is known: {SET}"
    # Ctrl+C is the editor's while it runs; a handler, unlike a signal that is ignored, is not
    # passed on to it.
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        done = subprocess.run([*words, str(path)], check=False)
    except OSError as error:
        return f"{words[0]} could not be started ({error.strerror}): {SET}"
    finally:
        signal.signal(signal.SIGINT, before)
    return "" if done.returncode == 0 else f"{words[0]} ended with code {done.returncode}"
