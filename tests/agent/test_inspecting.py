"""An earlier window as it was last sent, from the log alone (ROL-14)."""

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from nodwyn_tui.agent.inspecting import AT_ONCE, NOTHING_SENT, PIECE, Inspector
from nodwyn_tui.agent.ledger import Ledgers
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.canonical import message_value
from nodwyn_tui.domain.parts import Call, Thinking
from nodwyn_tui.domain.usage import Usage
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link.requests import (
    FetchPieces,
    LeaveRequest,
    Piece,
    PiecesLoaded,
    ShowWindow,
    WindowShown,
)
from nodwyn_tui.store.archive import Archive
from tests.agent.rig import Rig
from tests.builders import LogBuilder
from tests.fakes.archives import written
from tests.fakes.chat_server import ChatServer
from tests.fakes.script import call, say


class Looking:
    """An inspector on a log of these events."""

    def __init__(self, folder: Path, events: Sequence[ev.Event]) -> None:
        self.archive = Archive(written(folder, events), Ledgers())
        self.told: list[up.UpEvent] = []
        self.inspector = Inspector(self.told.append)

    async def window(self, at: int) -> WindowShown:
        await self.inspector.do(ShowWindow(at=at), self.archive)
        shown = self.told[-1]
        assert isinstance(shown, WindowShown)
        return shown

    async def pieces(self, shown: WindowShown) -> list[Piece]:
        """All of them, as a front would scroll through."""
        pieces: list[Piece] = []
        while len(pieces) < shown.pieces:
            asked = FetchPieces(seq=shown.seq, first=len(pieces), count=100)
            await self.inspector.do(asked, self.archive)
            loaded = self.told[-1]
            assert isinstance(loaded, PiecesLoaded)
            assert loaded.first == len(pieces)
            assert sum(len(piece.text) for piece in loaded.pieces) <= AT_ONCE + PIECE
            pieces += loaded.pieces
        return pieces


def joined(pieces: Sequence[Piece]) -> list[tuple[int, str, str]]:
    """Each part of a row whole: its number, what it is, its text."""
    parts: list[tuple[int, str, str]] = []
    for piece in pieces:
        text = "" if piece.begins else parts.pop()[2]
        parts.append(
            (piece.row, f"{piece.role} {piece.part} {piece.title}".strip(), text + piece.text)
        )
    return parts


def three_windows() -> LogBuilder:
    """Two rollovers, with thinking, calls, results and a row longer than a piece."""
    log = LogBuilder(high_water=2**40, ceiling=2**40, max_result_tokens=2**30, strategy="rollover")
    log.user("Fix it.\n" + "".join(f"line {n} of what the person pasted\n" for n in range(3_000)))
    log.request()
    log.reply(Thinking("where is it?"), "I look.", Call("a", "shell", '{"command": "ls"}'))
    log.result("a", "x" * (3 * PIECE + 5))
    log.request()
    log.reply(Call("b", "fs-read", '{"path": "a.py"}'))
    log.result("b", "gone", is_error=True, name="fs-read")
    log.roll_over()
    log.request()
    log.reply("Half of it.", "And a question?")
    log.roll_over(ev.UserMessage(text="Go on then."), reason="on-send")
    log.request()
    log.reply("Done.")
    return log


def resets(log: LogBuilder) -> list[ev.WindowReset]:
    return [event for event in log.events if isinstance(event, ev.WindowReset)]


async def test_each_window_is_shown_as_it_was_last_sent(tmp_path: Path) -> None:
    """ROL-14: every text of the request, in its order, with the digest that was recorded."""
    log = three_windows()
    looking = Looking(tmp_path, log.events)
    requests = [event for event in log.events if isinstance(event, ev.LlmRequest)]
    with closing(looking.archive):
        for reset, request in zip(resets(log), requests[1:], strict=False):
            shown = await looking.window(reset.seq)
            assert shown.problem == ""
            assert (shown.seq, shown.digest) == (request.seq, request.digest)
            assert (shown.name, shown.tokens) == (reset.previous_window, request.estimate)
            parts = joined(await looking.pieces(shown))
            assert parts[0] == (0, "system text", "You help.")
            assert [what for row, what, _ in parts if row == 0] == [
                "system text", "tools text fs-read", "tools text shell"
            ]  # fmt: skip
            sent = LogBuilder()
            sent.events, sent.recipe = list(log.events[: request.seq - 1]), log.recipe
            messages = [message_value(row) for row in sent.window().request.messages]
            assert len(messages) == shown.messages
            texts = [
                part.get("text", part.get("arguments")) for row in messages for part in row["parts"]
            ]
            assert [text for row, _, text in parts if row] == texts


async def test_rows_say_what_they_are(tmp_path: Path) -> None:
    log = three_windows()
    looking = Looking(tmp_path, log.events)
    with closing(looking.archive):
        pieces = await looking.pieces(await looking.window(resets(log)[0].seq))
    whole = joined(pieces)
    assert [what for row, what, _ in whole if row] == [
        "user text",
        "assistant thinking",
        "assistant text",
        "assistant call shell a",
        "tool result shell a",
    ]
    assert all(len(piece.text) <= PIECE for piece in pieces)
    assert {piece.row for piece in pieces if piece.tokens is not None} == {0, 1, 2, 3}
    pasted = [piece for piece in pieces if piece.row == 1]
    assert all(piece.text.endswith("\n") for piece in pasted[:-1])


async def test_what_the_server_counted_is_told(tmp_path: Path) -> None:
    log = LogBuilder()
    log.user("go")
    request, _ = log.request()
    log.add(ev.LlmResponse(req=request.seq, parts=(), finish="stop", usage=Usage(prompt_tokens=77)))
    log.clear()
    looking = Looking(tmp_path, log.events)
    with closing(looking.archive):
        shown = await looking.window(log.events[-1].seq)
    assert (shown.counted, shown.name, shown.model) == (77, "w:0", "m")


async def test_a_compacted_window_is_one_too(tmp_path: Path) -> None:
    log = LogBuilder()
    log.user("go")
    log.exchange("a", "found")
    opened = log.hand_over()
    looking = Looking(tmp_path, log.events)
    with closing(looking.archive):
        shown = await looking.window(opened.seq)
    assert (shown.problem, shown.name, shown.messages) == ("", "w:0", 1)


async def test_a_window_from_which_nothing_was_sent_is_said_to_be_one(tmp_path: Path) -> None:
    """The request of an earlier window is not shown in its place, nor a sub-context's."""
    log = LogBuilder()
    log.user("go")
    log.exchange("a", "found")
    first = log.clear()
    log.user("not asked yet")
    second = log.clear()
    log.user("delegate")
    log.ctx = 77
    log.add(ev.ContextOpen(id=77, parent=0, kind="task"))
    log.user("inner")
    log.request()
    log.ctx = 0
    third = log.clear()
    log_file = written(tmp_path, log.events)
    log_file.with_name("no-replay").touch()
    looking = Looking(tmp_path, log.events)
    with closing(looking.archive):
        assert (await looking.window(first.seq)).problem == ""
        assert (await looking.window(second.seq)).problem == NOTHING_SENT
        assert (await looking.window(third.seq)).problem == NOTHING_SENT


async def test_a_request_that_does_not_rebuild_is_not_shown(tmp_path: Path) -> None:
    """ENG-26: nothing of a log that somebody wrote into passes for what was sent."""
    log = LogBuilder()
    said = log.user("go")
    log.exchange("a", "found")
    reset = log.clear()
    log.events[said.seq - 1] = dataclasses.replace(said, text="gone")
    looking = Looking(tmp_path, log.events)
    (tmp_path / "no-replay").touch()
    with closing(looking.archive):
        shown = await looking.window(reset.seq)
        assert "does not match" in shown.problem
        assert (shown.seq, shown.pieces) == (0, 0)


async def test_pieces_of_another_request_are_not_sent(tmp_path: Path) -> None:
    """A front that asked twice gets those of the latest, and none once it has left."""
    log = three_windows()
    looking = Looking(tmp_path, log.events)
    with closing(looking.archive):
        first, second = [await looking.window(reset.seq) for reset in resets(log)]
        count = len(looking.told)
        await looking.inspector.do(FetchPieces(seq=first.seq, first=0, count=9), looking.archive)
        assert len(looking.told) == count
        await looking.inspector.do(LeaveRequest(), looking.archive)
        await looking.inspector.do(FetchPieces(seq=second.seq, first=0, count=9), looking.archive)
        assert len(looking.told) == count


async def test_a_worker_shows_a_window_of_its_session(rig: Rig) -> None:
    """ROL-14: over the link, in a live session and in one that is resumed."""
    with ChatServer([call("fs-list", {}), say("a"), say("b")]) as server:
        rig.configure(server)
        opened = await rig.open()
        await rig.ask("first words")
        rig.tell(commands.ClearWindow())
        cleared = await rig.until(up.EntryAdded, lambda told: told.entry.kind == "divider")
        assert cleared.entry.leaves
        for _ in range(2):
            rig.tell(ShowWindow(at=cleared.entry.seq))
            shown = await rig.until(WindowShown)
            assert (shown.problem, shown.messages) == ("", 3)
            assert shown.digest == rig.of(ev.LlmRequest)[-1].digest
            rig.tell(FetchPieces(seq=shown.seq, first=0, count=100))
            loaded = await rig.until(PiecesLoaded)
            assert any("first words" in piece.text for piece in loaded.pieces)
            await rig.close()
            await rig.open(resume=opened.session)
