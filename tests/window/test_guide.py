"""The figures of docs/engine.md are the engine's own."""

import re
from pathlib import Path

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.window import prefix, prompts
from nodwyn_tui.window.build import Window
from nodwyn_tui.window.policy import ADDED
from nodwyn_tui.window.watch import Watch
from tests.builders import MODEL, LogBuilder

GUIDE = (Path(__file__).parents[2] / "docs" / "engine.md").read_text()


def example() -> tuple[LogBuilder, list[tuple[ev.LlmRequest, Window]]]:
    """Five parts of a file, one a reply; the sixth request is trimmed."""
    log = LogBuilder(task_header="", high_water=2_000, low_water=1_300)
    log.user("find the bug in parser.py")
    asked = []
    for number, lines in enumerate((15, 25, 10, 20, 15)):
        asked.append(log.request())
        log.reply("looking " * 4, Call(f"c{number}", "shell", f'{{"command":"cat part{number}"}}'))
        log.result(f"c{number}", ("x" * 59 + "\n") * lines)
    asked.append(log.request())
    return log, asked


def test_example_of_a_trim_is_what_the_engine_does() -> None:
    log, asked = example()
    request, window = asked[-1]
    whole = LogBuilder(task_header="", high_water=9_000)
    whole.events = log.events[: request.seq - 1]
    before = {entry.seq: entry for entry in whole.window().entries}
    for entry in window.entries:
        was = before[entry.seq]
        cut = ", cut" if was.state == "cut" else ""
        assert f"| {entry.kind} {entry.seq}{cut} | {was.tokens} | {entry.tokens} |" in GUIDE
    assert f"| {window.fixed} | {window.fixed} |" in GUIDE
    assert f"| **{whole.window().estimate:,}** | **{window.estimate:,}** |" in GUIDE
    assert f"`elided: {list(request.elided)}`" in GUIDE
    assert f"may grow by {2_000 - window.estimate} tokens" in GUIDE


def test_example_of_a_prediction_is_what_the_engine_predicts() -> None:
    log, asked = example()
    (_, first), (earlier, former), (later, trimmed) = asked[-3:]
    watch = Watch()
    for event in log.events[: later.seq - 1]:
        watch.feed(event)
    found = prefix.predict(
        [prompts.sent(earlier, prompts.prompt_of(former), 1_410)],
        prefix.New(
            prompt=prompts.prompt_of(trimmed), origin=MODEL.origin, parameters=ev.Parameters()
        ),
        watch,
        prefix.Cache(),
    )
    assert found.ended_by == "trim"
    held, whole = former.trail[found.pieces - 1].end, former.trail[-1].end
    words = " ".join(GUIDE.split())
    assert f"1,410 \N{MULTIPLICATION SIGN} {held} / {whole:,} = {found.cached} tokens" in words
    assert f"from {first.trail[-1].end:,} bytes to {whole:,}" in words
    assert former.trail[: len(first.trail)] == first.trail


def test_every_flag_has_its_row() -> None:
    """ENG-9."""
    found = re.findall(r"(?m)^\| (\d+) \| `?([\w-]+)`? \| \S", GUIDE)
    table = [(str(number), flag) for number, flags in ADDED.items() for flag in flags or ("-",)]
    assert found == table
