"""A session's rollovers in the transcript, from its events alone (ROL-14)."""

import dataclasses
from contextlib import closing
from pathlib import Path

import pytest

from nodwyn_tui.agent.dividers import label
from nodwyn_tui.agent.ledger import Ledgers
from nodwyn_tui.agent.pages import PAGE, Pages
from nodwyn_tui.agent.standing import standing
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.domain import events as ev
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.window import lead_in
from nodwyn_tui.window.budget import Warn
from tests.builders import LogBuilder
from tests.fakes.archives import written

RESET = ev.WindowReset(
    kind="rollover",
    rollover_id="r:812",
    reason="mid-run",
    previous_window="w:812",
    flush_opportunity=True,
    context_tokens=48_200,
    max_tokens=64_000,
)


def entries(log: LogBuilder) -> tuple[up.Entry, ...]:
    """The transcript, where its entries stand with it."""
    return transcript(log).load(log.events, standing(log.events))


def transcript(log: LogBuilder) -> Transcript:
    return Transcript({event.seq: event for event in log.events}.get)


def rolled(reason: str = "mid-run", *trigger: ev.Event) -> LogBuilder:
    """A window that was warned of and left."""
    log = LogBuilder(strategy="rollover")
    log.user("Fix the login test.")
    log.exchange("a", "found")
    log.add(lead_in.warning(Warn(1_860, 3_000), notes=True))
    log.exchange("b", "found more")
    log.roll_over(*trigger, reason=reason)  # type: ignore[arg-type]
    log.request()
    log.reply("done")
    return log


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "rolled over in mid-run · at 48.2k of 64k tokens · the model had been warned"
            " · window w:812 left",
        ),
        (
            {"reason": "on-send", "flush_opportunity": False},
            "rolled over before the next message · at 48.2k of 64k tokens"
            " · the model had no turn for its notes · window w:812 left",
        ),
        (
            {"reason": "context-exceeded", "flush_opportunity": False},
            "rolled over, a request was refused for its length · at 48.2k of 64k tokens"
            " · window w:812 left",
        ),
        (
            {"too_small": True},
            "rolled over in mid-run · at 48.2k of 64k tokens · too small: it was full after a"
            " single reply · the model had been warned · window w:812 left",
        ),
        (
            {"reason": "", "context_tokens": None, "previous_window": "", "rollover_id": None}
            | {"flush_opportunity": False},
            "window rolled over",
        ),
        (
            {"kind": "manual", "reason": "clear", "context_tokens": 31_200},
            "window cleared at 31.2k tokens · nothing before it is sent, or looked up, again",
        ),
    ],
)
def test_a_divider_says_why_and_how_full(changes: dict[str, object], words: str) -> None:
    """ROL-14: the reason and the figures in plain words, a `/clear` too."""
    assert label(dataclasses.replace(RESET, **changes)) == words  # type: ignore[arg-type]


def test_what_the_program_told_the_model_is_no_message_and_hides_nothing() -> None:
    """ROL-14: lead-in, warning and Continue are a line each, and open to what the window shows."""
    log = rolled()
    shown = entries(log)
    told = [entry for entry in shown if entry.kind == "guidance"]
    assert [entry.title for entry in told] == [
        "told the model: the window is ~62 % full",
        "told the model: how it looks into w:0, what you asked",
        "told the model: Continue.",
    ]
    assert [entry.state for entry in told] == ["behind", "in", "in"]
    window = {row.seq: row for row in log.window().entries}
    [lead] = [entry for entry in told if "w:0" in entry.title]
    body = transcript_of(log, lead)
    assert body.text == window[lead.seq].message.parts[0].text  # type: ignore[union-attr]
    assert "Fix the login test." in body.text
    assert [entry.kind for entry in shown if entry.kind == "user"] == ["user"]


def transcript_of(log: LogBuilder, entry: up.Entry) -> up.Body:
    held = transcript(log)
    held.load(log.events, None)
    body = held.body(entry.id)
    assert body is not None
    return body


def test_a_continue_of_the_persons_own_stays_theirs() -> None:
    log = LogBuilder(strategy="rollover")
    log.user("go")
    log.request()
    log.reply("so far", finish="length")
    log.user("Continue.", via="continue")
    assert [(entry.kind, entry.title) for entry in entries(log)][-1] == ("user", "continue")


def test_a_message_that_is_sent_again_says_so() -> None:
    """ROL-7, ROL-14: the same text stands on both sides of the divider."""
    log = LogBuilder(strategy="rollover")
    log.user("One.")
    log.exchange("a", "found")
    message = log.user("Two.")
    request, _ = log.request()
    log.add(ev.LlmError(req=request.seq, kind="context_exceeded", message="too long"))
    log.roll_over(ev.UserMessage(text=message.text), reason="context-exceeded")
    said = [entry for entry in entries(log) if entry.kind == "user"]
    assert [(entry.preview, entry.title, entry.state) for entry in said] == [
        ("One.", "", "behind"),
        ("Two.", "", "behind"),
        ("Two.", "sent again", "in"),
    ]


def test_a_page_that_begins_behind_a_lead_in_knows_it() -> None:
    """Pages may begin at any message, so the lines before it are asked for."""
    log = rolled()
    [at] = [event.seq for event in log.events if getattr(event, "via", "") == "continue"]
    page = transcript(log).load(log.events[at - 1 :], None)
    assert (page[0].kind, page[0].title) == ("guidance", "told the model: Continue.")


def test_a_message_carries_a_rollover_as_itself() -> None:
    said = entries(rolled("on-send", ev.UserMessage(text="And the docs.")))
    assert [(e.kind, e.title) for e in said if e.preview == "And the docs."] == [("user", "")]


def test_a_window_was_left_where_a_divider_says_so() -> None:
    """ROL-14: at resets and compactions an earlier window can be asked for, nowhere else."""
    log = rolled()
    log.clear()
    log.user("anew")
    log.request()
    log.reply("yes")
    log.hand_over()
    log.resume()
    dividers = [entry for entry in entries(log) if entry.kind == "divider"]
    assert [(entry.title.partition(" ")[0], entry.leaves) for entry in dividers] == [
        ("rolled", True),
        ("window", True),
        ("compacted", True),
        ("resumed", False),
    ]


def test_pages_lead_over_every_reset_to_the_beginning(tmp_path: Path) -> None:
    """ROL-14, PERF-3: what stands before the latest reset is behind it, page by page, and pages add
    up to the whole.
    """
    log = LogBuilder(strategy="rollover", high_water=2**30, ceiling=2**30)
    for window in range(4):
        if window:
            log.roll_over()
        else:
            log.user("begin")
        for step in range(PAGE // 8):
            log.exchange(f"{window}.{step}", "found")
    since = max(event.seq for event in log.events if isinstance(event, ev.WindowReset))
    with closing(Archive(written(tmp_path, log.events), Ledgers())) as archive:
        there = standing(log.events)
        pages = Pages(Transcript(archive.event), archive, lambda: there)
        found, more = pages.latest()
        count = 1
        while more:
            told = pages.fetch(commands.FetchPage(before=found[0].seq))
            found, more, count = told.entries + found, told.more, count + 1
        ahead = pages.fetch(commands.FetchPage(after=0)).entries
    assert count > 2
    whole = [dataclasses.replace(entry, body=None) for entry in entries(log)]
    assert [dataclasses.replace(entry, body=None) for entry in found] == whole
    assert list(ahead) == whole[: len(ahead)]
    assert sum(entry.leaves for entry in found) == 3
    for entry in found:
        if entry.kind != "divider":
            assert entry.state == ("behind" if entry.seq < since else "in"), entry


def test_a_rejected_message_stays_outside_whatever_the_window_does() -> None:
    """ROL-8: it was never sent, so it is not behind a reset either; what follows says why."""
    log = LogBuilder(strategy="rollover")
    log.user("go")
    log.exchange("a", "found")
    log.add(ev.UserMessage(text="far too much", rejected=True))
    log.add(
        ev.BudgetBlocked(
            reason="the message alone is too much",
            figures={"message": 9_000, "ceiling": 3_000, "context": 3_500},
            remedies=("shorten it",),
        )
    )
    log.roll_over(ev.UserMessage(text="less"), reason="on-send")
    shown = entries(log)
    [rejected] = [entry for entry in shown if entry.preview == "far too much"]
    assert (rejected.title, rejected.state) == ("not sent", "outside")
    [blocked] = [entry for entry in shown if entry.kind == "error"]
    assert transcript_of(log, blocked).text.splitlines() == [
        "nothing was sent: the message alone is too much",
        "the message 9k · a request may have 3k · the model's context 3.5k tokens",
        "· shorten it",
    ]
    assert all("far too much" not in str(row.message) for row in log.window().entries)
