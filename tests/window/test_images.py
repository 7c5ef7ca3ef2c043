"""Images by digest: shown, withheld with a reason, counted and trimmed."""

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.window.build import Shape
from nodwyn_tui.window.replay import replay
from tests.builders import LogBuilder, texts

SHOT = ev.ImageRef(sha256="cd", mime="image/png", width=5, height=5, tokens=90)


def test_attached_image_stands_behind_its_line() -> None:
    """IMG-4."""
    log = LogBuilder(task_header="")
    log.image("ab")
    log.user("see")
    assert texts(log.window()) == ["user: [image shot.png, data] <ab>", "user: see"]


def test_image_counts_as_its_record_says() -> None:
    """ENG-13, C06: on top of the line that names it; a picture never counts as nothing."""
    few, many = LogBuilder(), LogBuilder()
    few.image(tokens=85)
    many.image(tokens=1_105)
    assert many.window().estimate - few.window().estimate == 1_020


def test_withheld_image_says_why_and_replays() -> None:
    """IMG-5, ENG-26: the recorded reasons are applied, no file is read."""
    log = LogBuilder(task_header="")
    log.image("ab")
    log.user("see")
    request, window = log.request(Shape(withheld={"ab": "missing"}))
    assert texts(window)[0] == "user: [image shot.png, data] [image not sent: missing]"
    assert window.estimate < log.window().estimate
    assert replay(log.events, request.seq) == window


def test_image_of_a_result_goes_the_same_way() -> None:
    """IMG-8."""
    log = LogBuilder(task_header="")
    log.user("go")
    log.reply(Call("a", "fs-read", '{"path":"x.png"}'))
    log.result("a", "x.png", name="fs-read", images=(SHOT,))
    assert texts(log.window())[-1] == "tool: x.png <cd>"
    withheld = log.window(Shape(withheld={"cd": "no-vision"}))
    assert texts(withheld)[-1] == "tool: x.png [image not sent: no-vision]"


def test_trim_takes_an_image_out_with_its_line_and_leaves_name_and_size() -> None:
    """ENG-14, IMG-7: after the results, before assistant text, oldest attachment first."""
    log = LogBuilder(task_header="", protected=1, high_water=9_000, low_water=8_000)
    first, second = log.image("ab", 400), log.image("cd", 400)
    log.user("see")
    log.reply("words " * 50, Call("a", "shell", "{}"))
    result = log.result("a", "out " * 50)
    log.user("and")
    full = log.window().estimate
    assert log.window(Shape(high_water=full - 40)).newly == (result.seq,)
    assert log.window(Shape(high_water=full - 100)).newly == (first.seq, result.seq)
    trimmed = log.window(Shape(high_water=full - 500))
    assert trimmed.newly == (first.seq, second.seq, result.seq)
    assert texts(trimmed)[:2] == [
        f"user: [elided seq={first.seq}] image shot.png, 10x20",
        f"user: [elided seq={second.seq}] image shot.png, 10x20",
    ]


def test_an_image_stays_until_a_reply_has_seen_it() -> None:
    """C44: however many there are, what is older goes in their place."""
    log = LogBuilder(task_header="", protected=2, high_water=9_000, low_water=8_000)
    log.user("before")
    old = log.reply("words " * 300)
    log.user("see")
    images = [log.image(f"{n:02}", 1_000) for n in range(4)]
    assert log.window(Shape(high_water=100)).newly == (old.seq,)
    log.reply("seen")
    log.user("and")
    newly = log.window(Shape(high_water=100)).newly
    assert set(newly) >= {image.seq for image in images}
