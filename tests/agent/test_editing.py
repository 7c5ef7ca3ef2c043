"""The window changed by hand: dropped, folded, brought back, rewound (TUI-15, ENG-15, AGT-4)."""

import json
import random
from dataclasses import replace

import pytest

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.words import WindowAction
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from tests.agent.rig import Rig, messages
from tests.fakes.chat_server import ChatServer
from tests.fakes.ollama_server import OllamaServer
from tests.fakes.prefix_cache import PrefixCache
from tests.fakes.script import Script, call, calls, say
from tests.fakes.server import FakeServer

READ = ("fs-read", {"path": "a.txt"})
LIST = ("fs-list", {})
SLACK = 0.05
"""Of a prompt: the canonical bytes and those on the wire are not the same."""
PRICE = {"input": 3.0, "cached": 0.3, "output": 15.0}


def entries(rig: Rig) -> dict[str, up.Entry]:
    """The entries as the front has them, in order."""
    found: dict[str, up.Entry] = {}
    for event in rig.events:
        match event:
            case up.Opened():
                found.clear()
            case up.EntriesLoaded(entries=loaded):
                found |= {entry.id: entry for entry in loaded}
            case up.EntryAdded(entry=entry) | up.EntryChanged(entry=entry):
                found[entry.id] = entry
            case up.StatesChanged(ids=ids, state=state):
                found |= {each: replace(found[each], state=state) for each in ids}
            case _:
                pass
    return found


def of_kind(rig: Rig, kind: str) -> list[up.Entry]:
    return [entry for entry in entries(rig).values() if entry.kind == kind]


async def do(rig: Rig, entry_id: str, action: WindowAction) -> str:
    """Changes the window; what the person is told of it."""
    rig.tell(commands.EditWindow(entry_id=entry_id, action=action))
    return (await rig.until(up.Notice)).text


async def priced(rig: Rig, entry_id: str) -> dict[str, up.EditOption]:
    rig.tell(commands.PriceEdit(entry_id=entry_id))
    told = await rig.until(up.EditPriced)
    assert told.entry_id == entry_id
    return {option.action: option for option in told.options}


def assert_predicted(rig: Rig, server: FakeServer, word: str) -> None:
    """ENG-28: what the last request's cache should have held, it held, up to what ended it."""
    request, cache = rig.of(ev.LlmRequest)[-1], PrefixCache("slot")
    counted = [cache.count(body.body) for body in server.bodies][-1]
    assert request.prefix_ended_by == word
    assert request.predicted_cached is not None
    assert abs(counted.cached - request.predicted_cached) <= SLACK * counted.prompt


async def begun(rig: Rig, server: FakeServer, **model: object) -> None:
    """A session in which a long file was read, and something said after it."""
    (rig.workspace / "a.txt").write_text("a line of this file\n" * 60)
    rig.configure(server, **model)
    await rig.open()
    await rig.ask("look at a.txt")


BEGUN: list[Script] = [calls(READ, LIST), say("It is long. " * 40)]


@pytest.mark.parametrize("protocol", [ChatServer, OllamaServer])
async def test_dropped_result_leaves_a_mark_and_the_cache_keeps_what_stood_before(
    rig: Rig, protocol: type[FakeServer]
) -> None:
    """ENG-28: the word is `edit`, and the cache holds what was predicted."""
    with protocol([*BEGUN, say("one"), say("two")]) as server:
        await begun(rig, server)
        read, listed = of_kind(rig, "call")
        options = await priced(rig, read.id)
        assert list(options) == ["fold", "drop", "drop_step"]
        assert options["drop"].freed > 300
        assert options["drop"].again > 50, "the result behind it"
        assert "dropped" in await do(rig, read.id, "drop")
        meter = await rig.until(up.MeterChanged)
        assert meter.source == "estimated", "the server counted another window"
        await rig.ask("and now?")
        assert_predicted(rig, server, "edit")
        assert [e.state for e in of_kind(rig, "call")] == ["dropped", "in"]
        sent = json.dumps(messages(server))
        assert "[dropped seq=" in sent
        assert "a line of this file" not in sent
        assert listed.title.split()[0] in sent


async def test_price_is_what_the_next_request_then_has(rig: Rig) -> None:
    """TUI-15: told before; the estimate of the request falls by what is freed."""
    with ChatServer([*BEGUN, say("one")]) as server:
        await begun(rig, server, price=PRICE)
        read = of_kind(rig, "call")[0]
        option = (await priced(rig, read.id))["fold"]
        again = (await priced(rig, read.id))["fold"]
        assert option == again, "a price changes nothing"
        assert option.cost_usd is not None
        assert 0 < option.cost_usd <= option.again * 2.7 / 1e6
        assert f"folded: ~{option.freed:,} tokens less" in await do(rig, read.id, "fold")
        assert of_kind(rig, "call")[0].state == "folded"
        assert (await priced(rig, read.id))["restore"].freed == -option.freed


async def test_change_behind_all_that_was_sent_is_free(rig: Rig) -> None:
    """The last reply was never sent: nothing of it is cached."""
    with ChatServer(BEGUN) as server:
        await begun(rig, server, price=PRICE)
        (reply,) = of_kind(rig, "assistant")
        options = await priced(rig, reply.id)
        assert list(options) == ["drop"]
        assert (options["drop"].again, options["drop"].cost_usd) == (0, 0.0)
        assert options["drop"].freed > 100


async def test_fold_by_hand_says_what_it_was_and_is_undone_by_one_restore(rig: Rig) -> None:
    """ENG-15, ENG-21."""
    with ChatServer([*BEGUN, say("one"), say("two")]) as server:
        await begun(rig, server)
        whole = messages(server)
        read = of_kind(rig, "call")[0]
        await do(rig, read.id, "fold")
        await rig.ask("and now?")
        folded = messages(server)
        assert "[folded by the person: fs-read" in folded[3]["content"]
        assert "gave 60 lines" in folded[3]["content"]
        assert_predicted(rig, server, "fold")
        await do(rig, read.id, "restore")
        await rig.ask("show it")
        assert messages(server)[: len(whole)] == whole
        assert of_kind(rig, "call")[0].state == "in"


async def test_step_goes_and_comes_back_as_one(rig: Rig) -> None:
    """ENG-16: the reply, its calls and their results."""
    with ChatServer([*BEGUN, say("one"), say("two")]) as server:
        await begun(rig, server)
        whole = messages(server)
        read, listed = of_kind(rig, "call")
        await do(rig, listed.id, "drop_step")
        assert [entry.state for entry in of_kind(rig, "call")] == ["dropped", "dropped"]
        assert list(await priced(rig, read.id)) == ["restore"]
        await rig.ask("and now?")
        assert [m["role"] for m in messages(server)][1:4] == ["user", "assistant", "assistant"]
        await do(rig, read.id, "restore")
        assert [entry.state for entry in of_kind(rig, "call")] == ["in", "in"]
        await rig.ask("show it")
        assert messages(server)[: len(whole)] == whole


async def test_result_whose_reply_went_too_comes_back_with_it(rig: Rig) -> None:
    with ChatServer([*BEGUN, say("one")]) as server:
        await begun(rig, server)
        whole = messages(server)
        read, listed = of_kind(rig, "call")
        await do(rig, read.id, "drop")
        await do(rig, listed.id, "drop_step")
        await do(rig, read.id, "restore")
        assert [edit.action for edit in rig.of(ev.WindowEdit)] == [
            "drop", "drop", "restore", "restore",
        ]  # fmt: skip
        await rig.ask("and now?")
        assert messages(server)[: len(whole)] == whole


async def test_exchange_goes_and_comes_back_as_one(rig: Rig) -> None:
    """TUI-15: a message with all up to the next one."""
    with ChatServer([*BEGUN, say("one"), say("two"), say("three")]) as server:
        await begun(rig, server)
        await rig.ask("between")
        whole = messages(server)
        first = of_kind(rig, "user")[0]
        assert list(await priced(rig, first.id)) == ["drop", "drop_exchange", "rewind"]
        await do(rig, first.id, "drop_exchange")
        await rig.ask("and now?")
        sent = messages(server)
        assert [m["content"][:8] for m in sent[1:4]] == ["[dropped"] * 3
        assert "between" in sent[4]["content"]
        assert list(await priced(rig, first.id)) == ["restore", "restore_exchange", "rewind"]
        await do(rig, first.id, "restore_exchange")
        await rig.ask("show it")
        assert messages(server)[: len(whole)] == whole


async def test_rewind_gives_the_message_back_and_leaves_files_alone(rig: Rig) -> None:
    """AGT-4: later events stay in the log, out of the window; the prefix holds up to there."""
    write = call("fs-write", {"path": "new.txt", "text": "made\n"})
    with ChatServer([*BEGUN, write, say("wrote it"), say("again")]) as server:
        await begun(rig, server)
        (rig.workspace / "new.txt").unlink(missing_ok=True)
        rig.tell(commands.SetMode(mode="edits"))
        kept = messages(server)
        await rig.ask("write  new.txt")
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        returned = await rig.until(up.Returned)
        assert (returned.text, returned.why) == ("write  new.txt", "rewound")
        assert (rig.workspace / "new.txt").read_text() == "made\n"
        assert [e.state for e in of_kind(rig, "user")] == ["in", "outside"]
        assert of_kind(rig, "call")[-1].state == "outside"
        assert of_kind(rig, "divider")[-1].title == "rewound to: write new.txt"
        await rig.ask("write another")
        sent = messages(server)
        assert sent[: len(kept)] == kept
        assert len(sent) == len(kept) + 2
        assert_predicted(rig, server, "rewind")


async def test_rewinds_go_back_message_by_message(rig: Rig) -> None:
    with ChatServer([say("1"), say("2"), say("3"), say("new")]) as server:
        rig.configure(server)
        await rig.open()
        for text in ("one", "two", "three"):
            await rig.ask(text)
        rig.tell(commands.ListMessages())
        listed = (await rig.until(up.MessagesListed)).messages
        assert [m.text for m in listed] == ["three", "two", "one"]
        assert listed[0].tokens < listed[1].tokens < listed[2].tokens
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        assert (await rig.until(up.Returned)).text == "three"
        rig.tell(commands.EditWindow(entry_id=listed[2].entry_id, action="rewind"))
        assert (await rig.until(up.Returned)).text == "one"
        rig.tell(commands.EditWindow(entry_id="", action="rewind"))
        assert "no message of yours" in (await rig.until(up.Notice)).text
        assert "rewound" in await do(rig, listed[1].entry_id, "rewind")
        await rig.ask("uno")
        assert len(messages(server)) == 2


async def test_nothing_is_changed_while_a_run_goes_on(rig: Rig) -> None:
    with ChatServer([say("hi"), call("shell", {"command": "sleep 30"})]) as server:
        rig.configure(server)
        await rig.open(allow=("*",))
        await rig.ask()
        (reply,) = of_kind(rig, "assistant")
        rig.tell(commands.Send(text="go"))
        await rig.until(up.EntryAdded, lambda e: e.entry.kind == "call")
        assert "Esc stops it" in await do(rig, reply.id, "drop")
        assert "Esc stops it" in await do(rig, "", "rewind")
        rig.tell(commands.PriceEdit(entry_id=reply.id))
        assert "Esc stops it" in (await rig.until(up.EditPriced)).why_not
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
    assert rig.of(ev.WindowEdit) == rig.of(ev.WindowRewind) == []


async def test_note_on_offer_is_dropped_by_a_change(rig: Rig) -> None:
    """AGT-16: it is of another window."""
    with ChatServer([*BEGUN, say("so far: a.txt was read"), say("one")]) as server:
        await begun(rig, server)
        kept = messages(server)
        rig.tell(commands.Compact())
        await rig.until(up.CompactionOffered)
        await do(rig, of_kind(rig, "call")[0].id, "fold")
        assert "not compacted" in rig.told(up.CompactionEnded)[-1].text
        await rig.ask("and now?")
        sent = messages(server)
        assert len(sent) == len(kept) + 2
        assert "[folded by the person" in str(sent)


async def test_what_is_not_in_the_window_says_why_it_cannot_be_changed(rig: Rig) -> None:
    with ChatServer([say("1"), say("2")]) as server:
        rig.configure(server)
        await rig.open()
        await rig.ask("one")
        behind = of_kind(rig, "user")[0]
        rig.tell(commands.ClearWindow())
        await rig.ask("two")
        divider = of_kind(rig, "divider")[0]
        for entry, why, options in (
            (behind, "began anew", ["rewrite"]),  # which changes nothing
            (divider, "never stands", []),
        ):
            rig.tell(commands.PriceEdit(entry_id=entry.id))
            told = await rig.until(up.EditPriced)
            assert [option.action for option in told.options] == options
            assert why in told.why_not
            assert "cannot be done" in await do(rig, entry.id, "drop")
        rig.tell(commands.PriceEdit(entry_id="00009999"))
        assert "no such entry" in (await rig.until(up.EditPriced)).why_not
        assert "no such entry" in await do(rig, "00009999", "drop")
        assert "rewound, or never sent" in await do(rig, behind.id, "rewind")


async def test_edits_in_a_row_have_one_divider(rig: Rig) -> None:
    with ChatServer(BEGUN) as server:
        await begun(rig, server)
        for entry in of_kind(rig, "call"):
            await do(rig, entry.id, "drop")
        (reply,) = of_kind(rig, "assistant")
        await do(rig, reply.id, "drop")
        assert of_kind(rig, "divider")[-1].title == "3 entries dropped from the window"
        await do(rig, reply.id, "restore")
        assert of_kind(rig, "divider")[-1].title == "1 entry brought back into the window"


async def test_message_that_waits_is_taken_back(rig: Rig) -> None:
    """AGT-4: the last one first; it is neither sent nor offered again."""
    with ChatServer([call("shell", {"command": "sleep 30"})]) as server:
        rig.configure(server)
        opened = await rig.open(allow=("*",))
        rig.tell(commands.Send(text="go"))
        await rig.until(up.EntryAdded, lambda e: e.entry.kind == "call")
        for text in ("same", "other", "same"):
            rig.tell(commands.Send(text=text))
        rig.tell(commands.TakeBack())
        assert (await rig.until(up.Returned)) == up.Returned(text="same", why="queued")
        assert rig.told(up.Queued)[-1].texts == ("same", "other")
        rig.tell(commands.Interrupt())
        await rig.until(up.RunEnded)
        await rig.close()
        assert (await rig.open(resume=opened.session)).draft == "same\n\nother"
        rig.tell(commands.TakeBack())
        assert "nothing waits" in (await rig.until(up.Notice)).text


ACTIONS: tuple[WindowAction, ...] = (
    "fold", "drop", "drop_step", "drop_exchange", "restore", "restore_exchange", "rewind",
)  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2, 4])
async def test_any_changes_leave_requests_that_servers_accept(rig: Rig, seed: int) -> None:
    """ENG-16, ENG-26: whatever is dropped, folded, brought back or rewound, no request parts a call
    from its result, each replays, and the screen shows the same after a resume.
    """
    chance = random.Random(seed)
    (rig.workspace / "a.txt").write_text("a line of this file\n" * 50)
    script: list[Script] = []
    for _ in range(8):
        script += [calls(READ, LIST), call(*READ), say("so " * chance.randrange(60))]
    with ChatServer(script) as server:
        rig.configure(server, context=8_192)
        await rig.open()
        for turn in range(8):
            assert (await rig.ask(f"turn {turn}")).why == "done"
            for _ in range(3):
                await anything(rig, chance)
        assert server.violations == []
        assert any(request.elided for request in rig.of(ev.LlmRequest))
        live = entries(rig)
        await rig.close()
        await rig.open(resume="last")
        await rig.until(up.EntriesLoaded, lambda told: told.done)
        read = {key: e for key, e in entries(rig).items() if key in live}
    assert {key: (e.state, e.title) for key, e in read.items()} == {
        key: (e.state, e.title) for key, e in live.items()
    }


async def anything(rig: Rig, chance: random.Random) -> None:
    """One change, of those that an entry picked by chance allows."""
    entry = chance.choice([e for e in entries(rig).values() if e.kind != "divider"])
    options = await priced(rig, entry.id)
    if not options:
        return
    action = chance.choice(list(options.values())).action
    if action == "rewind" and chance.random() < 0.7:
        return
    rig.tell(commands.EditWindow(entry_id=entry.id, action=action))
    await rig.until(up.MeterChanged)
