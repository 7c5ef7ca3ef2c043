"""What a shell keeps from one call to the next: its folder and its exported variables."""

import os
from collections.abc import Mapping
from pathlib import Path

from nodwyn_tui.system.processes import MARK

_LARGEST = 1024 * 1024

_QUIET = {
    "CI": "1",
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
}
"""So that nothing waits on a terminal, and output comes in the order it was made (AGT-7)."""

_LOUD = ("CLICOLOR_FORCE", "FORCE_COLOR", "BASH_ENV", "ENV", "CDPATH", "PROMPT_COMMAND")

# `eval` runs the command in this very shell, so that `cd` and `export` last; the trap tells, on a
# descriptor of its own, where it ended. The shell's name and the command are its arguments.
_SCRIPT = """trap 'set +eux; IFS="
"; { printf "%s\\0" "$PWD"; for n in $(compgen -e); do printf "%s=%s\\0" "$n" "${!n}"; done; \
} 2>/dev/null >&DESCRIPTOR' EXIT; eval "$1\""""


def calm(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that a shell begins with."""
    kept = {name: value for name, value in environment.items() if name not in _LOUD}
    return kept | _QUIET


def command_line(bash: str, command: str, descriptor: int) -> list[str]:
    """What runs `command` in bash and then writes the state to `descriptor`."""
    script = _SCRIPT.replace("DESCRIPTOR", str(descriptor))
    return [bash, "--noprofile", "--norc", "-c", script, "bash", command]


def read_state(descriptor: int) -> tuple[Path, dict[str, str]] | None:
    """The folder and the variables that a shell wrote; `None` if it was ended before it could, or
    left something else there.
    """
    size = os.fstat(descriptor).st_size
    if not 0 < size <= _LARGEST:
        return None
    fields = os.pread(descriptor, size, 0).split(b"\0")
    if len(fields) < 2 or not fields[0].startswith(b"/"):
        return None
    pairs = (field.partition(b"=") for field in fields[1:-1])
    variables = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name}
    for own in ("_", "SHLVL", "PWD", MARK):
        variables.pop(own, None)
    return Path(os.fsdecode(fields[0])), variables
