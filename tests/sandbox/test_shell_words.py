"""What an allow pattern passes, and the tricks that it must not (AGT-8, SEC-2)."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nodwyn_tui.sandbox.shell_words import allowed, matches, parts


def words(command: str) -> list[tuple[str, ...]] | None:
    found = parts(command)
    return None if found is None else [part.words for part in found]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git status", [("git", "status")]),
        ("a; b && c || d | e & f\ng", [(name,) for name in "abcdefg"]),
        ("a |& b", [("a",), ("b",)]),
        ("(a; b) && c", [("a",), ("b",), ("c",)]),
        ("git log $(git rev-parse HEAD)", [("git", "rev-parse", "HEAD"),
                                           ("git", "log", "$(git rev-parse HEAD)")]),
        ("echo `id`", [("id",), ("echo", "`id`")]),
        ('echo "x $(id) y"', [("id",), ("echo", "x $(id) y")]),
        ("FOO=1 BAR=2 make", [("FOO=1", "BAR=2", "make")]),
        ("echo 'a; b' \"c && d\" e\\;f", [("echo", "a; b", "c && d", "e;f")]),
        ("g'i't st\\atus", [("git", "status")]),
        ("git \\\n status # the rest; rm -rf /", [("git", "status")]),
        ("# only\na", [("a",)]),
        ("! grep x y", [("grep", "x", "y")]),
        ("ls *.py 'a*'", [("ls", "*.py", "a*")]),
        ("echo $HOME ${HOME} $?", [("echo", "$HOME", "${HOME}", "$?")]),
        ("a &>/dev/null", [("a",)]),
        ("a 2>&1 >/dev/null </dev/null", [("a",)]),
    ],
)  # fmt: skip
def test_simple_commands_are_found(command: str, expected: list[tuple[str, ...]]) -> None:
    assert words(command) == expected


@pytest.mark.parametrize(
    "command",
    [
        "cat <<EOF\nx\nEOF",
        "cat <<<x",
        "diff <(a) <(b)",
        "tee >(a)",
        "eval 'rm x'",
        "exec rm x",
        "source x",
        ". x",
        "trap 'rm x' EXIT",
        "alias git=rm",
        "command git status",
        "$GIT status",
        "g* status",
        "~/bin/git status",
        "`echo git` status",
        "$(echo git) status",
        "git() { rm x; }",
        "function git { rm x; }",
        "if true; then a; fi",
        "for x in a; do b; done",
        "{ a; }",
        "[[ a == b ]]",
        "((x=1))",
        "echo $((1+1))",
        "echo ${x:-$(id)}",
        "echo $'\\x41'",
        'echo "$(open"',
        'echo "`a "b"`"',
        'echo "$1"',
        "echo \\",
        'echo "a\\',
        'echo $"a"',
        "echo {a,b}",
        "a=(b c)",
        "coproc a",
        "time a",
        "echo 'open",
        'echo "open',
        "echo `open",
        "echo $(open",
        "(a",
        "a)",
        "a &&& b",
        "; a",
        "a\rb",
        "git\u00a0status",
        "git\u3000status",
        "git\u3164status",
        "git \u202estatus",
        "git sta\u200btus",
        "git status\x00",
        "git status\x1f",
        "printf -v 'a[$(id)]' x",
        "test -v 'a[`id`]'",
        "echo `a \\`b\\``",
        "( " * 50 + "a" + " )" * 50,
        "echo " + "$(a " * 50 + ")" * 50,
        "",
        "   ",
        "# nothing",
        "x" * 20_001,
    ],
)
def test_what_is_not_certain_is_not_parsed(command: str) -> None:
    assert parts(command) is None
    assert not allowed(["git *", "echo *", "a", "a *", "test *", "printf *"], command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git status", "git status"),
        ("git status", "  git   status  "),
        ("git status", "git 'status'"),
        ("git *", "git log --oneline | git cat-file -p HEAD"),
        ("uv run pytest *", "uv run pytest -q tests"),
        ("uv run pytest *", "uv run pytest"),
        ("ls ?", "ls a"),
        ("make [*]", "make '*'"),
        ("git status", "git status 2>&1 >/dev/null"),
        ("FOO=1 make", "FOO=1 make"),
        ("echo *", "echo 'two\nlines'"),
        ("*", "cat <<EOF > x\nEOF"),
        ("cat a > b", "cat a > b"),
        ("echo $HOME[*]", "echo $HOME*"),
    ],
)
def test_a_pattern_allows(pattern: str, command: str) -> None:
    assert matches(pattern, command)


@pytest.mark.parametrize(
    ("pattern", "command"),
    [
        ("git status", "git status; rm -rf x"),
        ("git status", "git status && rm x"),
        ("git status", "git status || rm x"),
        ("git status", "git status | sh"),
        ("git status", "git status & rm x"),
        ("git status", "git status\nrm x"),
        ("git status", "git status $(rm x)"),
        ("git *", "git log $(rm x)"),
        ("git *", 'git log "$(rm x)"'),
        ("git *", "git log `rm x`"),
        ("git *", "git log <(rm x)"),
        ("git *", "(git status; rm x)"),
        ("git *", "LD_PRELOAD=./x.so git status"),
        ("git *", "PATH=./bin git status"),
        ("git *", "PATH=./bin; git status"),
        ("git *", "git log > x"),
        ("git *", "git log >> x"),
        ("git *", "git log >| x"),
        ("git *", "git log &> x"),
        ("git *", "git log >& x"),
        ("git *", "git log 2> x"),
        ("git *", "git log <> x"),
        ("git *", "git apply < ../x"),
        ("git *", "(git log) > x"),
        ("git *", "> x"),
        ("git *", "git log > /dev/null/../shm/x"),
        ("git status", "'git status'"),
        ("git status", "git 'status -s'"),
        ("git status *", "git 'status x'"),
        ("git status", "./git status"),
        ("git status", "xargs git status"),
        ("git status", "git statusx"),
        ("git status", "git  '' status"),
        ("git ?", "git ab"),
        ("git[ ]x", "git y"),
        ("gi[t] *", "gi[t] x"),
        ("", ""),
        ("git", ""),
    ],
)
def test_a_pattern_does_not_allow(pattern: str, command: str) -> None:
    """SEC-2: substitution, newlines, quoting, assignments, redirections."""
    assert not matches(pattern, command)


def test_each_part_may_match_a_pattern_of_its_own() -> None:
    patterns = ["git status", "uv run pytest *"]
    assert allowed(patterns, "git status && uv run pytest -x")
    assert not allowed(patterns, "git status && uv run ruff")
    assert not allowed([], "git status")


PIECES = st.lists(
    st.sampled_from(
        [
            *("good", "good", "evil", "x", "A=1", "'", '"', "\\", "\n", " ", " ", ";", "&", "|"),
            *("(", ")", "$", "$(", "`", "<", ">", "/dev/null", "#", "!", "{", "}", "=", "2", "$'"),
            *("&&", "||", ">&", "1", "<<", "\t", "*", "~", "[", "]", "((", "))", "${A}", "$A"),
        ]
    ),
    min_size=1,
    max_size=9,
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two programs, `good` and `evil`, that write their names into `ran`."""
    folder = tmp_path_factory.mktemp("stage")
    for name in ("good", "evil"):
        program = folder / name
        program.write_text(f'#!/bin/sh\necho {name} >> "{folder}/ran"\n')
        program.chmod(0o755)
    return folder


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(PIECES)
def test_bash_runs_nothing_that_a_pattern_did_not_allow(
    stage: Path, tmp_path_factory: pytest.TempPathFactory, pieces: list[str]
) -> None:
    """SEC-2: whatever passes for `good *`, bash itself runs `good` only, and makes no file."""
    command = "".join(pieces)
    if not matches("good *", "good " + command):
        return
    folder = tmp_path_factory.mktemp("run")
    (stage / "ran").unlink(missing_ok=True)
    subprocess.run(
        ["/bin/bash", "-c", "good " + command],
        cwd=folder,
        env={"PATH": os.fspath(stage)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=10,
        check=False,
    )
    ran = (stage / "ran").read_text().split() if (stage / "ran").exists() else []
    assert "evil" not in ran
    assert list(folder.iterdir()) == []
