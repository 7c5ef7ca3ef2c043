"""What terminals type for dropped files, one by one (IMG-1)."""

import shlex
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nodwyn_tui.agent.dropped import LONGEST, MOST, is_refused, readings

HOME = "/home/me"
SPACED = '/home/me/my shots/it\'s "1" & more.png'
GHOSTTY = "\\ \t'\"`()[]{}!#$&;*?|<>"


def ghostty(path: str) -> str:
    return "".join(f"\\{char}" if char in GHOSTTY else char for char in path)


def vte(path: str) -> str:
    return "'" + path.replace("'", "'\\''") + "' "


def kitty(path: str) -> str:
    return f"file://{quote(path)}"


def wezterm(path: str) -> str:
    return path.replace(" ", "\\ ")


def vscode(path: str) -> str:
    return "'" + path.replace("'", "\\'") + "'"


def vscode_both(path: str) -> str:
    return "$'" + path.replace("'", "\\'") + "'"


TWO = ("/tmp/a b.png", "/tmp/c.png")
TYPED = {
    "Terminal.app, iTerm2, Warp: backslashes": ghostty(SPACED),
    "iTerm2: quotes": shlex.quote(SPACED),
    "Terminal.app with Shift, alacritty: raw, a space behind": f"{SPACED} ",
    "Ghostty on macOS": ghostty(SPACED),
    "Ghostty on GTK: a newline behind": f"{ghostty(SPACED)}\n",
    "GNOME Terminal and others of VTE": vte(SPACED),
    "kitty": kitty(SPACED),
    "kitty, host named": kitty(SPACED).replace("file://", "file://localhost"),
    "WezTerm: only spaces escaped": wezterm(SPACED),
    "WezTerm, Posix": shlex.quote(SPACED),
    "VS Code: a quote escaped within quotes": vscode("/home/me/it's here.png"),
    "VS Code: both kinds of quotes": vscode_both(SPACED),
    "Konsole": shlex.quote(SPACED),
    "typed: ~": '~/"my shots"/x.png',
    "carriage return behind": f"{SPACED}\r",
}
WANTED = {
    "VS Code: a quote escaped within quotes": "/home/me/it's here.png",
    "typed: ~": "/home/me/my shots/x.png",
}
SEVERAL = {
    "backslashes, spaces between": " ".join(map(ghostty, TWO)),
    "quotes, a space behind each": "".join(map(vte, TWO)),
    "addresses, a line each": "\n".join(map(kitty, TWO)),
    "addresses, CR LF": "\r\n".join(map(kitty, TWO)) + "\r\n",
    "backslashes, a newline behind each": "".join(f"{ghostty(path)}\n" for path in TWO),
    "only spaces escaped": " ".join(map(wezterm, TWO)),
    "raw, a line each": "\n".join(TWO),
    "quoted addresses": " ".join(shlex.quote(kitty(path)) for path in TWO),
    "double quotes": " ".join(f'"{path}"' for path in TWO),
}


def first(text: str, there: set[str], **where: str) -> list[str]:
    """What is taken where these files alone are there."""
    for reading in readings(text, **({"home": HOME} | where)):
        found = [next((path for path in token if path in there), "") for token in reading]
        if all(found):
            return found
    return []


@pytest.mark.parametrize("name", TYPED)
def test_one_file(name: str) -> None:
    wanted = WANTED.get(name, SPACED)
    assert first(TYPED[name], {wanted}) == [wanted]


@pytest.mark.parametrize("name", SEVERAL)
def test_several_files(name: str) -> None:
    assert first(SEVERAL[name], set(TWO)) == list(TWO)


@pytest.mark.parametrize("name", SEVERAL)
def test_one_that_is_missing_makes_it_text(name: str) -> None:
    """IMG-1: an attachment only if every token is an existing image."""
    assert first(SEVERAL[name], {TWO[0]}) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (r"C:\Users\me\a b.png", "/mnt/c/Users/me/a b.png"),
        (r'"C:\Users\me\a b.png"', "/mnt/c/Users/me/a b.png"),
        ("'/mnt/c/Users/me/a b.png'", "/mnt/c/Users/me/a b.png"),
        ("file:///C:/Users/me/a%20b.png", "/mnt/c/Users/me/a b.png"),
    ],
)
def test_windows_terminal(text: str, path: str) -> None:
    assert first(text, {path}) == [path]


def test_several_from_windows_terminal() -> None:
    there = {"/mnt/c/a b.png", "/mnt/d/c.png"}
    assert first(r'"C:\a b.png" D:\c.png', there) == ["/mnt/c/a b.png", "/mnt/d/c.png"]


@pytest.mark.parametrize(
    "name", ["ünï cödé 图.png", "100%.png", "a%20b.png", "q?a#b.png", "'.png", "a\\b.png", "-x.png"]
)
@pytest.mark.parametrize("form", [ghostty, vte, kitty, shlex.quote, str])
def test_odd_names(name: str, form: object) -> None:
    """Unicode, percent signs, quotes and backslashes in names, in every form."""
    path = f"/home/me/{name}"
    assert callable(form)
    assert first(form(path), {path}) == [path]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n ",
        "look at a.png",
        "a.png",
        "./a.png",
        "/home/me/a.png is the shot",
        "file://server/share/a.png",
        "file://192.168.0.1/a.png",
        r"\\server\share\a.png",
        "//server/share/a.png",
        "/dev/zero",
        "/dev/../dev/fd/0",
        "/proc/self/environ",
        "/tmp/../sys/x.png",
        "/tmp/a\0.png",
        "file:///tmp/a%00.png",
        "/tmp/a\x1b[31m.png",
        "http://localhost/a.png",
        "x" * (LONGEST + 1),
        "/" + "a" * 5000,
        "\n".join(f"/tmp/{n}.png" for n in range(MOST + 1)),
    ],
)
def test_what_names_no_file(text: str) -> None:
    """Text stays text; other machines and the kernel's folders are not even looked at."""
    allowed = {"/home/me/a.png", "/home/me/a.png is the shot"}
    paths = {path for reading in readings(text, HOME) for token in reading for path in token}
    assert not {p for p in paths if is_refused(p)}
    assert not first(text, allowed - {text})


def test_a_relative_path_counts_only_where_the_person_said_it_is_one() -> None:
    assert first("shots/a.png", {"/ws/shots/a.png"}) == []
    assert first("shots/a.png", {"/ws/shots/a.png"}, base="/ws") == ["/ws/shots/a.png"]
    assert first("a b.png", {"/ws/a b.png"}, base="/ws") == ["/ws/a b.png"]


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
@example("'" * 200)
@example("\\" * 199)
@example("$'\\")
@example("file://[")
def test_any_text_is_read_without_harm(text: str) -> None:
    """Every path that comes out is absolute, of this machine, and short enough to be asked for."""
    for reading in readings(text, HOME, "/ws"):
        assert 0 < len(reading) <= MOST
        for token in reading:
            assert token
            assert all(path.startswith("/") and not is_refused(path) for path in token)
            assert all("\0" not in path for path in token)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12).filter(
            lambda name: "/" not in name and name.strip() == name and name not in {".", ".."}
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([vte, kitty, shlex.quote]),
    st.sampled_from([" ", "\n"]),
)
def test_whatever_is_quoted_whole_is_found(names: list[str], form: object, between: str) -> None:
    """Any names, as terminals that quote properly type them."""
    assert callable(form)
    paths = [f"/d/{name}" for name in names]
    assert first(between.join(map(form, paths)), set(paths)) == paths


def test_long_texts_cost_little(tmp_path: Path) -> None:
    """The largest text that is looked at at all, in the shapes that cost most."""
    for piece in ("'", "\\ ", "''", "$'a'", '"', "a ", "/a\n"):
        text = piece * (LONGEST // len(piece))
        assert sum(1 for _ in readings(text, str(tmp_path))) <= 5
