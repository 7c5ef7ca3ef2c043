"""Every setting is described, once, and the reference is made from that (QLT-3)."""

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodwyn_tui.config.allowed import KeyPath, known_keys
from nodwyn_tui.config.described import described, every
from nodwyn_tui.config.typed import as_typed, choices_of, kind_of, typed
from nodwyn_tui.domain.keys import CHANGEABLE

ROOT = Path(__file__).parents[2]
NOT_TYPED = {("models", "*", "price", "tiers"), ("models", "*", "price", "off_peak")}
"""Lists of tables, which are written in the file by hand."""


def settings(path: KeyPath = ()) -> Iterator[KeyPath]:
    """Every key of the schema."""
    for key in known_keys(path) or ():
        below = (*path, key, "*") if key in ("servers", "models") else (*path, key)
        if below == ("keys",):
            yield from (("keys", each.id) for each in CHANGEABLE)
        elif known_keys(below):
            yield from settings(below)
        else:
            yield (*path, key)


def test_every_setting_is_described_once() -> None:
    paths = [each.path for each in every()]
    assert len(paths) == len(set(paths))
    assert set(paths) == set(settings()) - NOT_TYPED


def test_each_description_is_a_line() -> None:
    for each in every():
        assert each.label, each
        assert each.help.endswith((".", "…")), each
        assert len(each.help) < 220, each
        assert "\n" not in each.help, each


def test_the_reference_is_in_step() -> None:
    """`tools/write-settings` writes it."""
    tool = runpy.run_path(str(ROOT / "tools" / "write-settings"), run_name="tool")
    assert tool["DOCUMENT"].read_text(encoding="utf-8") == tool["text"]()


def test_a_name_of_any_kind_finds_its_setting() -> None:
    """C73."""
    about = described(("models", "a.b *", "effort"))
    assert about is not None
    assert about.of("a.b *") == ("models", "a.b *", "effort")
    assert described(("models", "a", "nothing")) is None
    assert described(("models", "a")) is None


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("num_ctx", "32_768", 32768),
        ("num_ctx", " 32,768 ", 32768),
        ("num_ctx", "1.5", 1.5),
        pytest.param("num_ctx", "9" * 5000, "9" * 5000, id="long"),
        ("num_ctx", "many", "many"),
        ("threshold", "0.70", 0.7),
        ("threshold", "nan", "nan"),
        ("folds", "True", True),
        ("folds", "yes", "yes"),
        ("keep_reasoning", "latest", "latest"),
        ("keep_reasoning", "false", False),
        ("effort", "4096", "4096"),
    ],
)
def test_what_is_typed_becomes_its_kind_or_stays_text(key: str, text: str, value: object) -> None:
    """C72: nothing is judged here."""
    found = typed(("models", "m", key), text)
    assert found == value
    assert type(found) is type(value)


def test_values_come_back_as_they_are_typed() -> None:
    path = ("approvals", "allow")
    lines = "shell: git status\nfs-read: docs/*"
    assert typed(path, f"{lines}\n\n") == lines.splitlines()
    assert as_typed(lines.splitlines()) == lines
    assert [as_typed(each) for each in (None, True, 3.0, 0.25, 5, "x", {})] == [
        "", "true", "3", "0.25", "5", "x", "",
    ]  # fmt: skip


def test_kinds_and_choices_come_from_the_schema() -> None:
    model = ("models", "m")
    assert kind_of((*model, "price", "input")) == "price"
    assert kind_of((*model, "folds")) == "switch"
    assert kind_of((*model, "keep_reasoning")) == "choice"
    assert choices_of((*model, "keep_reasoning")) == ("false", "latest", "true")
    assert choices_of((*model, "folds")) == ("false", "true")
    assert kind_of(("servers", "s", "oauth", "scopes")) == "list"
    assert choices_of((*model, "effort")) == ()
