"""Arguments as models write them (C27, C28, C32)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodwyn_tui.domain.arguments import Malformed, read_arguments


@pytest.mark.parametrize("text", ["", "  \n", "{}"])
def test_no_text_is_no_arguments(text: str) -> None:
    assert read_arguments(text) == {}


def test_line_end_inside_a_string_passes_unless_strict() -> None:
    assert read_arguments('{"a": "x\ny"}') == {"a": "x\ny"}
    assert isinstance(read_arguments('{"a": "x\ny"}', strict=True), Malformed)


@pytest.mark.parametrize("size", range(1, 33))
def test_every_start_of_an_object_is_cut(size: int) -> None:
    found = read_arguments('{"path":"big.md","lines":[1,true]}'[:size])
    assert isinstance(found, Malformed)
    assert found.cut


@pytest.mark.parametrize(
    "text", ['{"a": 1,}', '{"a": 1} x', "[1]", '"x"', "3", '{"a": NaN}', '{"a": 1e999}',
             '{"a": 1, "a": 2}', '{"a":' + "[" * 90 + "]" * 90 + "}", "[" * 100_000 + "]" * 100_000,
             '{"a": ' + "9" * 5_000 + "}"],
    ids=range(11),
)  # fmt: skip
def test_malformed_is_not_cut_and_never_raises(text: str) -> None:
    found = read_arguments(text)
    assert isinstance(found, Malformed)
    assert not found.cut


@given(st.text(max_size=200))
def test_any_text_is_answered(text: str) -> None:
    assert isinstance(read_arguments(text), dict | Malformed)
