"""The parsed command line as the link's `Open`: paths checked, nothing else decided."""

import argparse
from pathlib import Path

from nodwyn_tui.errors import UsageError
from nodwyn_tui.link.commands import Open


def open_command(parsed: argparse.Namespace, workspace: str) -> Open:
    """What to open, from the options that the screen and `run` share."""
    if parsed.last and parsed.resume:
        raise UsageError("--continue and --resume exclude each other")
    return Open(
        workspace=str(folder(workspace)),
        resume="last" if parsed.last else parsed.resume,
        model=parsed.model,
        mode=parsed.mode,
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
