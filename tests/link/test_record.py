"""The link's records: frozen, compared by kind and fields (AGT-1)."""

from dataclasses import FrozenInstanceError, replace

import pytest

from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up

BODY = up.Body(text="all", diff="+a")


def test_fields_and_their_defaults() -> None:
    assert (BODY.text, BODY.arguments, BODY.diff) == ("all", "", "+a")
    assert repr(BODY) == "Body(text='all', arguments='', diff='+a')"
    assert replace(BODY, text="more") == up.Body(text="more", diff="+a")


def test_two_are_the_same_if_kind_and_fields_are() -> None:
    assert up.Body(text="all", diff="+a") == BODY
    assert up.Body(text="all") != BODY
    assert len({BODY, up.Body(text="all", diff="+a"), up.Body(text="all")}) == 2
    assert commands.Interrupt() != commands.Continue()


@pytest.mark.parametrize("fields", [{}, {"txt": "all"}, {"text": "all", "more": 1}])
def test_a_field_that_is_missing_or_unknown_is_a_bug(fields: dict[str, str]) -> None:
    with pytest.raises(TypeError, match=r"Body: .*(text|more)"):
        up.Body(**fields)


def test_none_is_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        BODY.text = "other"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del BODY.text
