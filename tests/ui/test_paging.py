"""A story told by pages: nothing that is read moves, nothing is missing or there twice (PERF-3)."""

import random

import pytest
from textual.events import Key

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.ui.widgets import entry_list
from nodwyn_tui.ui.widgets.entry_list import Edge
from nodwyn_tui.ui.widgets.lines import BLANK, Line
from nodwyn_tui.ui.widgets.paging import Paging
from nodwyn_tui.ui.widgets.story import Story
from nodwyn_tui.ui.widgets.story_pane import LATE_S
from nodwyn_tui.ui.widgets.viewport import Place, Viewport
from tests.ui import scenes
from tests.ui.backend import OPENED, Pages, Stage, press, settled
from tests.ui.scenes import call

MOST, FEWER = 130, 90
KINDS: tuple[up.EntryKind, ...] = (
    "user", "note", "call", "call", "divider", "thinking", "guidance"
)  # fmt: skip


def entry(rng: random.Random, number: int, seq: int) -> up.Entry:
    kind = rng.choice(KINDS)
    text = "\n".join(f"{number}.{row}" for row in range(rng.randint(1, 5)))
    return up.Entry(
        id=f"{seq:08}.{number:06}",
        seq=seq,
        kind=kind,
        title=" · ".join([str(number)] * rng.randint(1, 20)) if kind == "divider" else str(number),
        tool="shell",
        preview=text,
        size=rng.choice([len(text), len(text) * 9]) if kind != "call" else 0,
    )


def entries(rng: random.Random, count: int) -> list[up.Entry]:
    """Entries of all kinds, up to three to a log line, whose heights are guessed wrong."""
    seq, made = 0, []
    for number in range(count):
        seq += bool(rng.randrange(3) or not seq)
        made.append(entry(rng, number, seq))
    return made


class Reader:
    """A person before a long story, and a worker that answers in its own time."""

    def __init__(self, seed: int, count: int = 400) -> None:
        self.rng = rng = random.Random(seed)
        self.pages = Pages(entries(rng, count), rng.randint(5, 60))
        self.story = Story(lambda *_: [BLANK, Line(())])
        self.view = Viewport(self.story)
        self.view.resize(40, rng.randint(4, 20))
        self.view.reset()
        self.paging = Paging(self.story, self.view)
        told = self.pages.latest()
        self.story.load(told.entries, earlier=told.earlier)
        self.view.sync(1)
        self.asked: list[Edge] = []
        self.all_asked: list[Edge] = []

    def look(self) -> list[tuple[Place, Line]]:
        """See what is on the screen, as often as something is shown."""
        rows = self.view.rows()
        if (edge := self.paging.wanted(rows)) is not None:
            self.asked.append(edge)
            self.all_asked.append(edge)
        return rows

    def step(self) -> None:
        """Do something, or be told something."""
        match self.rng.randrange(12):
            case 0:
                self.add(self.rng.randint(1, 9))
            case 1:
                self.paging.turn(above=True)
                self.view.go_to(0)
            case 2:
                self.paging.turn(above=False)
                self.view.go_to_end()
            case 3:
                self.view.go_to(self.rng.randrange(self.view.total))
            case 4 | 5 | 6:
                self.answer()
            case _:
                self.scroll(self.rng.choice([-1, 1, -1, -2, 5]) * self.view.height)
        self.look()

    def scroll(self, rows: int) -> None:
        """What is beyond the gap is not come upon unnoticed."""
        gap, before = self.story.gap, self.look()
        self.view.scroll(rows, gap)
        if gap is not None and gap not in (seen := [place.entry for place, _ in before]):
            now = [place.entry for place, _ in self.view.rows()]
            assert now[-1] <= gap if seen[-1] < gap else now[0] >= gap

    def add(self, count: int) -> None:
        settled, seq = self.story.settled, self.pages.entries[-1].seq
        for number in range(count):
            made = entry(self.rng, len(self.pages.entries), seq + 1 + number)
            self.pages.entries.append(made)
            self.story.load([made])
        self.view.sync(settled)
        before = [line for _, line in self.view.rows()]
        if self.paging.let_go() is not None:
            assert [line for _, line in self.view.rows()] == before
            assert self.story.settled <= MOST
        self.check()

    def answer(self) -> None:
        """A page comes: what is read stays where it is."""
        if not self.asked:
            return
        edge = self.asked.pop(self.rng.randrange(len(self.asked)))
        [page] = self.pages.answer(commands.FetchPage(before=edge.before, after=edge.after))
        assert isinstance(page, up.PageLoaded)
        before, gap, was_following = self.look(), self.story.gap, self.view.following
        moved = self.paging.fill(page)
        self.check()
        assert self.view.following >= (was_following and not self.paging._above)
        if moved is None or gap is None:
            return
        after = {place: y for y, (place, _) in enumerate(self.view.rows())}
        if self.view.following if self.paging._above else (0, 0) in after:
            return  # the story's end or beginning is on the screen, and no blank rows beside it
        if len(before) < self.view.height:
            return
        for y, (place, _) in enumerate(before):
            side = place.entry < gap if self.paging._above else place.entry > gap
            if side and place != (gap + 1, 0):  # a blank line there can go or come
                there = moved(place)
                assert there is not None
                assert after[there] == y, "what is read stays"

    def check(self) -> None:
        """All that is here is in order, once, and nothing is missing beside the gap."""
        items = [self.story.entry_at(index) for index in range(1, self.story.settled)]
        ids = [item.id if item else "" for item in items]
        known = [made.id for made in self.pages.entries]
        if "" in ids:
            at = ids.index("")
            assert at + 1 == self.story.gap
            head, tail = ids[:at], ids[at + 1 :]
            assert head == known[: len(head)]
            assert tail == known[-len(tail) :]
            assert len(head) + len(tail) <= len(known)
        else:
            assert ids == known
        assert all(self.story.index_of(made) == n for n, made in enumerate(ids, 1) if made)
        assert len(self.view._heights) == len(self.story)


@pytest.mark.parametrize("seed", range(60))
def test_whatever_happens_nothing_read_moves_and_nothing_is_lost(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TUI-13: pages, moves, new entries, and old ones let go, in any order."""
    monkeypatch.setattr(entry_list, "MOST", MOST)
    monkeypatch.setattr(entry_list, "FEWER", FEWER)
    reader = Reader(seed)
    reader.look()
    for _ in range(80):
        reader.step()
    reader.check()
    while reader.asked:
        reader.answer()
    reader.paging.turn(above=False)
    reader.view.go_to_end()
    for _ in range(2_000):
        if reader.story.gap is None:
            break
        reader.scroll(-2)
        reader.look()
        reader.answer()
    assert reader.story.gap is None, "all is told to who goes through all of it"
    reader.check()


async def test_a_page_comes_when_the_gap_comes_near_and_the_screen_stays() -> None:
    """PERF-3: the rest is fetched as it comes into view; the rows that are read stay."""
    stage, pages = paged(notes(300), 40)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "note 300" in stage.text()
        assert stage.backend.of(commands.FetchPage) == []
        seen: list[str] = []
        while stage.screen.transcript.viewport.offset:
            await press(pilot, "pageup")
            page = [row.strip() for row in rows(stage) if "note " in row]
            seen = [*(row for row in page if row not in seen), *seen]
            assert "⋯" not in stage.text()
        assert seen == [f"· note {n}" for n in range(1, len(seen) + 1)]
        assert len(seen) > 280
        asked = [command.before for command in stage.backend.of(commands.FetchPage)]
        assert asked == sorted(asked, reverse=True)
        assert len(asked) == len(pages.entries) // pages.size


async def test_home_is_the_true_beginning_and_the_gap_is_entered_from_there() -> None:
    stage, _ = paged(notes(300), 40)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "ctrl+home")
        await settled(pilot)
        assert stage.backend.of(commands.FetchPage) == [commands.FetchPage()]
        assert "· note 1" in map(str.strip, rows(stage))
        assert stage.screen.transcript.viewport.offset == 0
        for _ in range(100):
            stage.app.post_message(Key("pagedown", None))  # faster than pages come
        await settled(pilot)
        assert "note 300" not in stage.text()
        while stage.screen.transcript.story.gap is not None:
            await press(pilot, "pagedown")
        assert all(
            command.after % 40 == 0 and not command.before
            for command in stage.backend.of(commands.FetchPage)
        )
        await press(pilot, "ctrl+end")
        assert "note 300" in stage.text()


async def test_what_is_current_open_and_selected_is_so_after_a_page() -> None:
    """TUI-17: a selection is of its words, wherever they stand."""
    stage, pages = paged([call(n, "shell", f"shell make {n}") for n in range(1, 200)], 30)
    stage.backend.answers.clear()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", *["up"] * 26, "enter")
        await settled(pilot)
        pane = stage.screen.transcript
        assert pane.current is not None
        entry_id = pane.story.entry_at(pane.current)
        await pilot.mouse_down("#transcript", offset=(3, 4))
        await pilot.hover("#transcript", offset=(30, 6))
        await pilot.mouse_up("#transcript", offset=(30, 6))
        await settled(pilot)
        text, selected, current = rows(stage), pane.selected_text(), pane.current
        [command] = stage.backend.of(commands.FetchPage)
        stage.backend.tell(*pages.answer(command))
        await settled(pilot)
        assert rows(stage) == text
        assert pane.selected_text() == selected
        assert selected.count("shell make") > 1
        assert pane.current == current + 30
        assert pane.story.entry_at(pane.current) == entry_id


async def test_the_entry_above_the_gap_is_reached_by_going_up() -> None:
    stage, pages = paged(notes(60), 30)
    stage.backend.answers.clear()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, "tab", *["up"] * 40)
        pane = stage.screen.transcript
        assert pane.current == 2, "not on the gap, nor beyond it"
        assert "⋯ earlier entries" in stage.text()
        for command in stage.backend.of(commands.FetchPage):
            stage.backend.tell(*pages.answer(command))
        await settled(pilot)
        await press(pilot, "up")
        entry = pane.story.entry_at(pane.current)
        assert entry is not None
        assert entry.preview == "note 30"


async def test_the_arrows_begin_where_one_looks() -> None:
    """TUI-1: scrolling leaves the current entry behind; going on from there would jump back."""
    stage, _ = paged(notes(60), 60)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pane = stage.screen.transcript
        await press(pilot, "tab", "up", "home", "down")
        assert pane.current == 1
        await press(pilot, "down", "end", "up")
        entry = pane.story.entry_at(pane.current or 0)
        assert entry is not None
        assert entry.preview == "note 60"
        await press(pilot, "up", "up")
        assert pane.current == pane.story.settled - 3, "from an entry in view it goes on"


async def test_a_page_does_not_disturb_who_follows_the_end() -> None:
    stage, _ = paged(notes(200), 5)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "note 200" in stage.text()
        assert "⋯" not in stage.text(), "more than a screen is there by itself"
        assert stage.screen.transcript.viewport.following
        stage.backend.tell(up.EntryAdded(entry=scenes.entry(201, "note", "note 201")))
        await settled(pilot)
        assert "note 201" in stage.text()


async def test_a_page_that_takes_long_is_said_to_be_loading() -> None:
    stage, pages = paged(notes(60), 5)
    stage.backend.answers.clear()
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert "⋯ earlier entries" in map(str.strip, rows(stage))
        await settled(pilot, 2 * LATE_S)
        assert "⋯ earlier entries · loading…" in stage.text()
        [command] = stage.backend.of(commands.FetchPage)
        stage.backend.tell(*pages.answer(command))
        await settled(pilot)
        assert "loading" not in stage.text()


async def test_a_page_that_failed_is_asked_for_when_it_is_near_again() -> None:
    stage, pages = paged(notes(300), 40)
    stage.backend.answers[commands.FetchPage] = lambda asked: [
        up.PageLoaded(entries=(), before=asked.before, after=asked.after, more=True)
    ]
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        await press(pilot, *["pageup"] * 12)
        assert len(stage.backend.of(commands.FetchPage)) == 1
        await settled(pilot, 2 * LATE_S)
        assert "⋯ earlier entries" in stage.text()
        assert "loading" not in stage.text()
        stage.backend.answers[commands.FetchPage] = pages.answer
        await press(pilot, "ctrl+end", *["pageup"] * 12)
        assert len(stage.backend.of(commands.FetchPage)) > 1
        assert "⋯" not in stage.text()


async def test_another_worker_begins_the_picture_anew() -> None:
    """TUI-12: a page that a dead worker owed is asked of the next one."""
    pages = Pages(notes(100), 5)
    stage = Stage(OPENED, pages.latest(), workers=1)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert len(stage.backend.of(commands.FetchPage)) == 1
        stage.backend.die()
        await settled(pilot)
        second = stage.backends[1]
        second.answers[commands.FetchPage] = pages.answer
        second.tell(OPENED, pages.latest())
        await settled(pilot)
        assert second.of(commands.FetchPage)[0] == commands.FetchPage(before=96)
        assert "note 100" in stage.text()
        assert "⋯" not in stage.text()


async def test_a_very_long_run_lets_its_beginning_go_and_gets_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Memory follows what is seen, not what there is."""
    monkeypatch.setattr(entry_list, "MOST", MOST)
    monkeypatch.setattr(entry_list, "FEWER", FEWER)
    made = [scenes.entry(n, "user", f"word {n}", body=None) for n in range(1, 301)]
    pages = Pages(made[:1], 40)
    stage = Stage(OPENED, pages.latest())
    stage.backend.answers[commands.FetchPage] = pages.answer
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        for each in made[1:]:
            pages.entries.append(each)
            stage.backend.tell(up.EntryAdded(entry=each))
        await settled(pilot)
        story = stage.screen.transcript.story
        assert story.settled <= MOST + 2
        assert "word 300" in stage.text()
        await press(pilot, "ctrl+home")
        await settled(pilot)
        assert "word 1" in map(str.strip, rows(stage))
        while story.gap is not None:
            await press(pilot, "pagedown")
        assert story.settled == 301


async def test_states_of_entries_that_are_not_here_are_ignored() -> None:
    stage, _ = paged(notes(100), 40)
    async with stage.app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        before = stage.text()
        stage.backend.tell(
            up.StatesChanged(ids=("00000001", "00000002"), state="elided"),
            up.EntryChanged(entry=scenes.entry(3, "note", "changed")),
            up.CallOutput(id="00000004", line="a line"),
        )
        await settled(pilot)
        assert stage.text() == before


def notes(count: int) -> list[up.Entry]:
    return [scenes.entry(n, "note", f"note {n}", body=None) for n in range(1, count + 1)]


def paged(entries: list[up.Entry], size: int) -> tuple[Stage, Pages]:
    """The app on a long story, of which a page is told."""
    pages = Pages(entries, size)
    stage = Stage(OPENED, pages.latest())
    stage.backend.answers[commands.FetchPage] = pages.answer
    return stage, pages


def rows(stage: Stage) -> list[str]:
    """The conversation's rows, without the scroll bar."""
    return [line[:79].rstrip() for line in stage.text().split("\n")[1:17]]
