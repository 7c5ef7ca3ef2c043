"""Folds as windows show them (ENG-21)."""

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Call
from nodwyn_tui.window.folds import Fold, by_hand
from tests.builders import LogBuilder, texts
from tests.exchanges import begun, call


def test_fold_stands_in_place_of_its_result_from_then_on() -> None:
    log = begun()
    target = call(log, "shell", "{}", "long output")
    log.reply("ok")
    _, before = log.request()
    log.fold(target, "in short")
    assert texts(before)[2] == "tool: long output"
    assert texts(log.window())[1:] == [
        f"assistant: shell(c{target - 3})",
        "tool: in short",
        "assistant: ok",
    ]
    assert log.window().entries[2].state == "folded"


def test_later_fold_of_the_same_result_wins() -> None:
    log = begun()
    target = call(log, "shell", "{}", "long output")
    log.fold(target, "first")
    log.fold(target, "second")
    assert texts(log.window())[-1] == "tool: second"


def test_fold_stands_for_a_results_images_too() -> None:
    log = begun()
    log.reply(Call("a", "fs-read", "{}"))
    shot = ev.ImageRef(sha256="ab", mime="image/png", width=5, height=5, tokens=900)
    target = log.result("a", "x.png", name="fs-read", images=(shot,)).seq
    log.fold(target, "in short")
    assert texts(log.window())[-1] == "tool: in short"
    assert log.window().entries[-1].tokens < 100


def test_elision_goes_over_a_fold() -> None:
    """ENG-15: what left the window is not brought back by a fold."""
    log = LogBuilder(protected=0, high_water=260, low_water=260, task_header="")
    log.user("go")
    target = call(log, "shell", "{}", "long output " * 30)
    log.request()
    log.reply("ok")
    log.fold(target, "in short")
    assert texts(log.window())[2] == f"tool: [elided seq={target}]"


def test_fold_by_hand_says_what_it_was_and_how_to_see_it() -> None:
    log = begun()
    target = call(log, "shell", '{"command": "make   test"}', "one\ntwo\nthree")
    result = log.events[target - 1]
    assert isinstance(result, ev.ToolResult)
    assert by_hand(Call("x", "shell", '{"command": "make   test"}'), result) == Fold(
        target,
        '[folded by the person: shell {"command": "make test"} gave 3 lines;'
        f' session_history {{"action": "read_item", "item": "i:{target}"}} shows them]',
        "by hand",
    )
