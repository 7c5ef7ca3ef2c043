"""`python -m nodwyn_tui`, and the `nodwyn` command."""

import sys

from nodwyn_tui.cli.main import run_command_line


def main() -> None:
    """Runs the command line, and leaves with its exit code."""
    sys.exit(run_command_line(sys.argv[1:]))


if __name__ == "__main__":
    main()
