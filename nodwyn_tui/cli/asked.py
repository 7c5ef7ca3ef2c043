"""The options that open a session, and the parsed ones as the link's `Open`: paths are checked,
nothing else is decided.
"""

import argparse
from pathlib import Path

from nodwyn_tui.domain.words import STRATEGIES
from nodwyn_tui.errors import UsageError
from nodwyn_tui.link.commands import Open


def session_options(parser: argparse.ArgumentParser) -> None:
    """The options that the screen and `run` share."""
    parser.add_argument("--model", default="", metavar="NAME", help="a [models] name or SERVER/ID")
    parser.add_argument(
        "--continue", action="store_true", dest="last", help="go on in the latest session here"
    )
    parser.add_argument("--resume", default="", metavar="ID", help="go on in a session")
    parser.add_argument("--strategy", choices=STRATEGIES, help="what happens when the window fills")
    parser.add_argument("--mode", choices=("plan", "ask", "edits", "auto"), help="approval mode")
    parser.add_argument("--config", default="", metavar="FILE", help="in place of config.toml")
    parser.add_argument(
        "--add-dir", action="append", default=[], metavar="DIR", help="one more folder to work in"
    )
    parser.add_argument("--tour", action="store_true", help="the built-in guide; needs no model")


def open_command(parsed: argparse.Namespace, workspace: str) -> Open:
    """What to open, from the options that the screen and `run` share."""
    if parsed.last and parsed.resume:
        raise UsageError("--continue and --resume exclude each other")
    return Open(
        workspace=str(folder(workspace)),
        resume="last" if parsed.last else parsed.resume,
        model=parsed.model,
        mode=parsed.mode,
        strategy=parsed.strategy,
        config_file=parsed.config,
        add_dirs=tuple(str(folder(path)) for path in parsed.add_dir),
        tour=parsed.tour,
    )


def folder(text: str) -> Path:
    """An existing folder's absolute path; `UsageError` for anything else."""
    path = Path(text).expanduser()
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{text}: no such folder") from error
    if not real.is_dir():
        raise UsageError(f"{text} is not a folder; give the folder to work in")
    return real


def positive(text: str) -> float:
    """An option's number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number above 0, not {text!r}")
    return value


def positive_int(text: str) -> int:
    """An option's whole number above 0."""
    if not (text.isascii() and text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, not {text!r}")
    return int(text)
