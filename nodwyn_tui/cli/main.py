"""Reads the command line and starts what was asked for. What a command needs is imported when it is
asked for, so that `--version` costs nothing and the screen's first frame comes at once.
"""

import argparse
import os
from collections.abc import Callable, Sequence

from nodwyn_tui import __version__
from nodwyn_tui.cli import output
from nodwyn_tui.errors import NodwynError, UsageError

INTERRUPTED = 130

EPILOG = """\
commands:
  nodwyn [PATH]              open the full-screen app in PATH (default: here)
  nodwyn run -p TEXT         one run without the screen; see nodwyn run --help
  nodwyn replay ID           print a session, or one request rebuilt and verified
  nodwyn cache ID            what each request read from the prompt cache
  nodwyn lab PATH…           recorded sessions under other policies; see nodwyn lab --help
  nodwyn sessions list       the sessions of this workspace
  nodwyn sessions search T   what was said in them, with --all in those of all workspaces
  nodwyn models list         models and what is known of them; add, remove, test, pull, refresh
  nodwyn config show         settings, and where each is from; path, check, set, unset
  nodwyn auth list           where each server's key is kept; set and remove one
  nodwyn doctor              what works here, and what does not

exit codes: 0 done, 1 failed, 2 usage or configuration, 3 a replay does not match,
4 the provider refused or failed, 5 blocked, 130 interrupted
"""


def run_command_line(arguments: Sequence[str]) -> int:
    """Runs one command and gives its exit code; a failure is one line on standard error."""
    command = COMMANDS.get(arguments[0]) if arguments else None
    try:
        if command is not None:
            return command(arguments[1:])
        return _screen(arguments)
    except NodwynError as error:
        output.tell(f"nodwyn: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output left (`nodwyn replay … | head`): nothing is wrong.
        output.reader_left()
        return 0


def _screen(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="nodwyn",
        description="A terminal coding assistant that keeps its prompt prefix byte-stable.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("path", nargs="?", default=".", help="the workspace (default: here)")
    parser.add_argument("--version", action="version", version=f"nodwyn {__version__}")
    from nodwyn_tui.cli.asked import open_command, session_options

    session_options(parser)
    _refuse_unknown_command(arguments)
    parsed = parser.parse_args(arguments)
    from nodwyn_tui.cli.screen import open_screen

    return open_screen(open_command(parsed, parsed.path))


def _refuse_unknown_command(arguments: Sequence[str]) -> None:
    """A word that is no command would be taken for a folder, and what follows for a mistake."""
    word = arguments[0] if arguments else ""
    if word.isalpha() and not os.path.lexists(word):
        raise UsageError(f"{word}: no such command, and no such folder; see nodwyn --help")


def _run(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.run import run

    return run(arguments)


def _replay(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.replay import run

    return run(arguments)


def _cache(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.cache import run

    return run(arguments)


def _lab(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.lab import run

    return run(arguments)


def _sessions(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.sessions import run

    return run(arguments)


def _auth(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.auth import run

    return run(arguments)


def _models(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.models import run

    return run(arguments)


def _config(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.config import run

    return run(arguments)


def _doctor(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.doctor import run

    return run(arguments)


def _worker(_arguments: Sequence[str]) -> int:
    from nodwyn_tui.link.pipe import serve
    from nodwyn_tui.wiring import work

    serve(work)
    return 0


def _local(arguments: Sequence[str]) -> int:
    from nodwyn_tui.cli.local_server import serve

    return serve(arguments)


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "run": _run,
    "replay": _replay,
    "cache": _cache,
    "lab": _lab,
    "sessions": _sessions,
    "auth": _auth,
    "models": _models,
    "config": _config,
    "doctor": _doctor,
    "_worker": _worker,
    "_local": _local,
}
