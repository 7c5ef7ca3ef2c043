"""Sessions found and listed."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import StoreError, UsageError
from nodwyn_tui.store.lines import encode
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.places import new_id, new_session
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.store.sessions import find, find_log, list_sessions
from tests.fakes.sessions import ToldClock, start

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class Place:
    """Two workspaces and a state folder."""

    def __init__(self, root: Path) -> None:
        self.here, self.there, self.state = root / "here", root / "there", root / "state"
        self.here.mkdir()
        self.there.mkdir()
        self.clock = ToldClock()

    def session(self, workspace: Path, *drafts: ev.Event) -> Path:
        folder = new_session(workspace, self.state, new_id(self.clock.now()))
        with Log.create(folder, self.clock, Redactor()) as log:
            log.append(start())
            for draft in drafts:
                log.append(draft)
        return folder


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_title_given_long_ago_is_known_to_the_index(place: Place) -> None:
    """And so is a later one that only it has passed."""
    titles = [ev.SessionTitle(title="first"), ev.SessionTitle(title="the real one")]
    long = [ev.ToolResult(call_id="c", name="t", text="x" * 30_000)] * 40
    folder = place.session(place.here, ev.UserMessage(text="go"), *titles, *long)
    assert list_sessions(place.here, place.state)[0].title == "the real one"
    log = folder / "log.jsonl"
    with log.open("ab") as file:  # another program's, so that the index lags behind
        file.write(encode(ev.SessionTitle(seq=200, title="newest")))
        file.writelines(encode(replace(event, seq=201 + n)) for n, event in enumerate(long))
    assert list_sessions(place.here, place.state)[0].title == "newest"
    log.write_bytes(log.read_bytes().replace(b"newest", b"edited"))
    assert list_sessions(place.here, place.state)[0].title == ""
    (folder / "index.sqlite").unlink()
    assert list_sessions(place.here, place.state)[0].title == ""
    assert not (folder / "index.sqlite").exists()  # a list makes none


def test_list_tells_title_first_message_time_and_count(place: Place) -> None:
    first = place.session(
        place.here,
        ev.UserMessage(text="fix the bug"),
        ev.SessionTitle(title="old"),
        ev.SessionTitle(title="A bug fixed"),
        ev.UserMessage(text="thanks"),
    )
    second = place.session(place.here, ev.UserMessage(text="say hello"))
    place.session(place.there)
    listed = list_sessions(place.here, place.state)
    assert [facts.folder for facts in listed] == [second, first]
    assert listed[0].title == ""
    assert listed[0].first_message == "say hello"
    assert listed[0].id == second.name
    assert (listed[1].title, listed[1].first_message, listed[1].count) == (
        "A bug fixed",
        "fix the bug",
        5,
    )
    assert listed[1].last_at == Log.read(first / "log.jsonl").events[-1].at
    assert listed[0].folder == second


def test_session_used_last_comes_first(place: Place) -> None:
    first = place.session(place.here)
    place.session(place.here)
    log, _ = Log.open(first, place.clock, Redactor())
    with log:
        log.append(ev.UserMessage(text="on"))
    assert list_sessions(place.here, place.state)[0].folder == first
    assert list_sessions(place.there, place.state) == []


def test_only_head_and_tail_are_read(place: Place) -> None:
    """PERF-3: a long log costs no more than a short one; long last lines are still found."""
    folder = place.session(place.here, ev.UserMessage(text="begin"))
    with (folder / "log.jsonl").open("ab") as file:
        file.truncate(1 << 30)  # a gap of 1 GB that reading would be felt
        tail = b'\n{"seq":9,"at":"2026-02-01T00:00:00.000Z","type":"note","text":"%s"}\n'
        file.write(tail % (b"x" * 300_000))
    (folder / "no-replay").touch()
    (facts,) = list_sessions(place.here, place.state)
    assert (facts.first_message, facts.count, facts.last_at[:7]) == ("begin", 9, "2026-02")


def test_what_is_no_session_is_not_listed(place: Place) -> None:
    folder = place.session(place.here)
    shelf = folder.parent
    (shelf / "notes").mkdir()
    (shelf / "notes" / "log.jsonl").write_text("{}")
    (shelf / "20260102T030405Z-00000000").mkdir()
    rubbish = shelf / "20260102T030405Z-00000001"
    rubbish.mkdir()
    (rubbish / "log.jsonl").write_bytes(b"\0" * 99)
    assert [facts.folder for facts in list_sessions(place.here, place.state)] == [folder]


def test_hundred_sessions_keep_apart(place: Place) -> None:
    """REL-5."""
    made = [place.session(place.here, ev.UserMessage(text=f"{n}")) for n in range(100)]
    listed = list_sessions(place.here, place.state)
    assert [facts.folder for facts in listed] == made[::-1]
    assert [facts.first_message for facts in listed] == [str(n) for n in range(99, -1, -1)]


def test_session_is_found_by_id_prefix_folder_and_log(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace first, then every workspace that the state folder lists."""
    one = place.session(place.here)
    two = place.session(place.here)
    far = place.session(place.there)
    monkeypatch.chdir(place.here)
    relative = one.relative_to(place.here)
    for reference in (one.name, str(one), str(one / "log.jsonl"), f"./{relative}"):
        assert find(reference, place.here, place.state) == one
    assert find(two.name[:-2], place.here, place.state) == two
    assert find(far.name, place.here, place.state) == far
    assert find(far.name[:17], place.here, place.state) == far
    with pytest.raises(UsageError, match=r"several sessions begin with 2026.*Give more"):
        find("2026", place.here, place.state)
    for reference in ("1999", "", "nowhere/at/all", "x" * 5000, "~", "\0"):
        with pytest.raises(UsageError, match="sessions list"):
            find(reference, place.here, place.state)


def test_log_of_any_name_is_found_by_its_path(place: Place, tmp_path: Path) -> None:
    """ENG-26: a log copied from another machine."""
    copy = tmp_path / "copied.txt"
    copy.write_bytes((place.session(place.here) / "log.jsonl").read_bytes())
    assert find_log(str(copy), place.there, place.state) == copy


def test_nothing_is_sought_through_a_link(place: Place) -> None:
    """SEC-4: a repository that links its `.nodwyn` to another workspace's sessions."""
    other = place.session(place.there)
    (place.here / ".nodwyn").symlink_to(place.there / ".nodwyn")
    assert list_sessions(place.here, place.state) == []
    own = place.session(place.here)
    (own.parent / "20260102T030405Z-00000002").symlink_to(other)
    linked = own.parent / "20260102T030405Z-00000003"
    linked.mkdir()
    (linked / "log.jsonl").symlink_to(other / "log.jsonl")
    assert [facts.folder for facts in list_sessions(place.here, place.state)] == [own]
    with pytest.raises(StoreError, match="symbolic link"):
        Log.open(linked, place.clock, Redactor())
    assert [path.name for path in linked.iterdir()] == ["log.jsonl"]


def test_sessions_of_an_unwritable_workspace_are_found_too(place: Place) -> None:
    (place.here / ".nodwyn").write_text("")
    folder = place.session(place.here)
    assert place.state in folder.parents
    assert find(folder.name, place.there, place.state) == folder
    assert list_sessions(place.here, place.state)[0].folder == folder


def test_unreadable_session_hides_no_other(place: Place) -> None:
    open_, closed = place.session(place.here), place.session(place.here)
    (closed / "log.jsonl").chmod(0)
    if os.access(closed / "log.jsonl", os.R_OK):
        pytest.skip("root reads everything")
    assert list_sessions(place.here, place.state)[0].folder == open_
    (closed / "log.jsonl").chmod(0o600)


def test_copy_of_a_log_is_read_and_not_gone_on_with(place: Place) -> None:
    """A session's lock and artifacts lie beside its log."""
    copy = place.here / "copied.jsonl"
    copy.write_bytes(b"")
    assert find_log(str(copy), place.here, place.state) == copy
    with pytest.raises(UsageError, match="is a copy of a log"):
        find(str(copy), place.here, place.state)
