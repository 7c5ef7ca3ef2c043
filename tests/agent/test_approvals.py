"""The verdict on a call: mode, patterns, secrets (AGT-8)."""

import pytest

from nodwyn_tui.agent.approvals import Rules, pattern_for
from nodwyn_tui.domain.events import Mode
from nodwyn_tui.sandbox.shell_words import allowed
from nodwyn_tui.tools.base import Ask, Effect

READ = Ask(title="read", subject="a.py")
WRITE = Ask(title="write", subject="src/a.py", diff="+x")
SHELL = Ask(title="run", command="git status && ls")
SECRET = Ask(title="read", subject=".env", secret=True)
OUTSIDE = Ask(title="write", subject="/etc/hosts", outside=True, diff="+x")


@pytest.mark.parametrize(
    ("mode", "verdicts"),
    [
        ("plan", ["allowed", "refused", "refused", "ask", "refused"]),
        ("ask", ["allowed", "ask", "ask", "ask", "ask"]),
        ("edits", ["allowed", "allowed", "ask", "ask", "ask"]),
        ("auto", ["allowed", "allowed", "allowed", "ask", "ask"]),
    ],
)
def test_modes(mode: Mode, verdicts: list[str]) -> None:
    """Secret files and paths outside ask in every mode that would let them pass (AGT-9, C76)."""
    rules = Rules(allowed)
    asked: list[tuple[str, Effect, Ask]] = [
        ("fs-read", "read", READ),
        ("fs-write", "write", WRITE),
        ("shell", "shell", SHELL),
        ("fs-read", "read", SECRET),
        ("fs-write", "write", OUTSIDE),
    ]
    assert [rules.verdict(mode, *each).decision for each in asked] == verdicts


@pytest.mark.parametrize(
    ("pattern", "passes"),
    [
        ("shell: git status", False),
        ("shell: *", True),
        ("*", True),
        ("fs-write: *", False),
        ("shell:git status && ls", True),
    ],
)
def test_compound_command_is_judged_part_by_part(pattern: str, passes: bool) -> None:
    rules = Rules(allowed, standing=(pattern,))
    assert (rules.verdict("ask", "shell", "shell", SHELL).decision == "allowed") == passes


def test_two_patterns_cover_the_two_parts() -> None:
    rules = Rules(allowed, standing=("shell: git status", "shell: ls"))
    assert rules.verdict("ask", "shell", "shell", SHELL).decision == "allowed"


@pytest.mark.parametrize("ask", [WRITE, Ask(title="run", command="echo 'a*b[c]?'"), READ])
def test_offered_pattern_allows_this_call_and_no_other(ask: Ask) -> None:
    tool: str = "shell" if ask.command else "fs-write"
    effect: Effect = "shell" if ask.command else "write"
    rules = Rules(allowed, session=[pattern_for(tool, ask)])
    assert rules.verdict("ask", tool, effect, ask).decision == "allowed"
    other = Ask(title="", command="echo other") if ask.command else Ask(title="", subject="b")
    assert rules.verdict("ask", tool, effect, other).decision == "ask"


def test_pattern_of_a_secret_is_the_persons_own_word() -> None:
    rules = Rules(allowed, standing=("fs-read: .env",))
    assert rules.verdict("plan", "fs-read", "read", SECRET).decision == "allowed"


def test_wide_pattern_opens_no_secret_and_nothing_outside() -> None:
    """C76."""
    rules = Rules(allowed, standing=("fs-read: *", "shell: cat *"))
    assert rules.verdict("ask", "fs-read", "read", SECRET).decision == "ask"
    cat = Ask(title="run", command="cat .env", secret=True)
    assert rules.verdict("ask", "shell", "shell", cat).decision == "ask"
