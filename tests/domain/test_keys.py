"""The table of keys, and what may be put in their place (TUI-11)."""

import pytest

from nodwyn_tui.domain.keys import (
    BY_ID,
    CHANGEABLE,
    KEYS,
    STAYING,
    all_changed,
    faults,
    keys_now,
    keys_of,
)


def test_each_id_is_there_once() -> None:
    assert len(BY_ID) == len(KEYS)


@pytest.mark.parametrize("key", CHANGEABLE, ids=lambda key: key.id)
def test_what_is_the_default_may_be_written(key: object) -> None:
    """A file that says what counts anyway is right."""
    assert faults({key.id: key.keys}) == {}  # type: ignore[attr-defined]


def test_all_defaults_together_are_right() -> None:
    assert faults({key.id: key.keys for key in CHANGEABLE}) == {}


def test_what_must_stay_is_fixed() -> None:
    """Nobody can be left unable to stop or to leave."""
    for key in KEYS:
        if set(keys_of(key.keys)) <= STAYING.keys():
            assert key.fixed, key


@pytest.mark.parametrize(
    ("id", "keys", "says"),
    [
        ("palette", "escape", "stays what it is"),
        ("palette", "Ctrl+C", "leaves"),
        ("allow", "enter", "[ui] enter"),
        ("palette", "ctrl+g,tab", "stays what it is"),
        ("palette", "ctrl+i", "can't be told from tab"),
        ("palette", "ctrl+m", "can't be told from enter"),
        ("palette", "hyper+x", "there is no key 'hyper+x'"),
        ("palette", "ctrl+nonsense", "there is no key"),
        ("palette", "ctrl+", "there is no key"),
        ("palette", "ctrl+ctrl+g", "there is no key"),
        ("palette", "f13", "there is no key"),
        ("palette", "ctrl+shift+g", "most terminals can't send"),
        ("palette", "ctrl+5", "most terminals can't send"),
        ("palette", "ctrl+space", "most terminals can't send"),
        ("allow", "shift+a", "is written as the sign itself"),
        ("palette", "g", "is needed to write"),
        ("attach", "space", "is needed to write"),
        ("palette", "left", "is needed to write"),
        ("palette", "ctrl+s", "is the key of settings already"),
        ("palette", "ctrl+u", "is the key of delete_to_start already"),
        ("palette", "ctrl+y", "already"),
        ("copy", "delete", "is the key of drop already"),
        ("settings_save", "a", "is the key of settings_add already"),
    ],
)
def test_what_cannot_be_a_key_is_said(id: str, keys: str, says: str) -> None:
    found = faults({id: keys})
    assert list(found) == [id]
    assert says in found[id]


@pytest.mark.parametrize(
    "changed",
    [
        {"palette": "ctrl+g"},
        {"palette": "ctrl+g, F5 ,alt+x"},
        {"palette": ""},
        {"palette": "shift+ctrl+home"},
        {"allow": "A"},
        {"allow": "g", "palette": "alt+g"},
        {"settings_save": "ctrl+p"},
        {"palette": "ctrl+s", "settings": "ctrl+p"},
        {"unfold": "", "help": "f3"},
    ],
)
def test_what_can_be_one(changed: dict[str, str]) -> None:
    """Two may swap; one may have what another gave up; parts never heard together are apart."""
    assert faults(changed) == {}


def test_of_two_that_clash_the_first_is_kept() -> None:
    found = faults({"palette": "f6", "tour": "f6"})
    assert list(found) == ["tour"]


def test_what_follows_from_a_refusal_is_refused_too() -> None:
    """The one keeps its default, which the other had meant to take."""
    found = faults({"settings": "escape", "palette": "ctrl+s"})
    assert set(found) == {"settings", "palette"}


def test_keys_are_told_as_they_count() -> None:
    """TUI-7: Enter and what breaks the line swap by one setting."""
    assert all_changed({}, "sends") == ()
    told = dict(all_changed({"palette": "Shift+Ctrl+Home, F5", "tour": ""}, "breaks"))
    assert told["palette"] == "ctrl+shift+home,f5"
    assert keys_now("tour", told) == ()
    assert keys_now("send", told) == ("ctrl+j", "shift+enter")
    assert keys_now("line_break", told) == ("enter",)
    assert keys_now("help", told) == ("f1",)
