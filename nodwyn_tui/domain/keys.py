"""Every key that is bound in the conversation and in the settings: what it does, where it works,
and which keys may be put in its place (TUI-7, TUI-11). How a key is drawn is the screen's to say.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Part = Literal["anywhere", "writing", "conversation", "settings"]
Enter = Literal["sends", "breaks"]
Changed = Mapping[str, str]
"""Keys by the binding's id, as in the file: `ctrl+g`, several with commas, '' for none."""

ALLOWED = "keys such as ctrl+g or f5, with commas, or ''"
STAYING = {
    "escape": "stops and goes back",
    "enter": 'sends or breaks the line, as [ui] enter = "sends" or "breaks" says',
    "tab": "goes to the conversation and back",
    "ctrl+c": "leaves",
}
"""What nobody can take away: else somebody could neither stop nor leave."""

_FUNCTION = frozenset(f"f{n}" for n in range(1, 13))
_NAMED = frozenset(
    {"up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete"}
    | {"backspace", "tab", "enter", "escape", "space", *_FUNCTION}
)
_HELD = frozenset({"alt", "ctrl", "shift"})
_ARRIVES_AS = {"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+h": "backspace", "ctrl+[": "escape"}
_WHILE_WRITING = _FUNCTION | {"pageup", "pagedown", "insert", "tab", "enter"}
"""Keys that write nothing. Alone, `tab` and `enter` stay what they are."""
_WHERE: Mapping[Part, tuple[Part, ...]] = {
    "anywhere": ("anywhere", "writing", "conversation"),
    "writing": ("writing", "anywhere"),
    "conversation": ("conversation", "anywhere"),
    "settings": ("settings",),
}
"""The parts whose keys are heard at the same time."""


@dataclass(frozen=True, slots=True)
class Key:
    """A binding. `keys` are the default ones, with commas between; `fixed` ones stay."""

    id: str
    keys: str
    does: str
    part: Part
    fixed: bool = False


def _keys(part: Part, *rows: tuple[str, str, str], fixed: bool = False) -> tuple[Key, ...]:
    return tuple(Key(id, keys, does, part, fixed) for id, keys, does in rows)


KEYS = (
    *_keys(
        "anywhere",
        ("interrupt", "escape", "stop what goes on; twice: your last message again"),
        ("leave", "ctrl+c", "copy what is selected; twice: leave"),
        fixed=True,
    ),
    *_keys(
        "anywhere",
        ("mode", "shift+tab", "the next approval mode"),
        ("palette", "ctrl+p", "all commands"),
        ("settings", "ctrl+s", "the settings"),
        ("page_up", "pageup", "a page up in the conversation"),
        ("page_down", "pagedown", "a page down"),
        ("to_start", "ctrl+home", "to the beginning of the conversation"),
        ("to_end", "ctrl+end", "to its end, and stay there"),
        ("tour", "ctrl+t", "the tour, where no model is set up"),
        ("help", "f1", "this help"),
        ("confirm_images", "f4", "send withheld images to this host too"),
        ("details", "f2", "more about the latest remark"),
    ),
    *_keys(
        "writing",
        ("send", "enter", "send; during a run, queue for its end; after \\ a new line"),
        ("line_break", "ctrl+j,shift+enter", "a new line"),
        ("older", "up", "a line up; at the first, the message before, or one that waits"),
        ("newer", "down", "a line down; at the last, the message after"),
        ("complete", "tab", "complete a command; else to the conversation"),
        ("back", "escape", "put completions or a question away"),
        ("left", "left", "a letter back; from the beginning to the images"),
        ("delete_left", "backspace", "delete; at the beginning mark an image, then remove"),
        fixed=True,
    ),
    *_keys(
        "writing",
        ("steer", "alt+enter", "send into the run, after the calls under way"),
        ("attach", "ctrl+v", "attach the image on the clipboard"),
        ("unfold", "f3", "open the folded paste at the cursor"),
        ("undo", "ctrl+z", "undo"),
        ("redo", "ctrl+y", "redo"),
        ("word_left", "ctrl+left", "a word back"),
        ("word_right", "ctrl+right", "a word on"),
        ("delete_word", "ctrl+w,alt+backspace", "delete the word before the cursor"),
        ("delete_to_start", "ctrl+u", "delete to the line's start"),
        ("delete_to_end", "ctrl+k", "delete to the line's end"),
    ),
    *_keys(
        "conversation",
        ("above", "up", "the entry above"),
        ("below", "down", "the entry below"),
        ("open", "enter", "open the entry, or close it; see an image"),
        ("entries_up", "pageup", "a page up"),
        ("entries_down", "pagedown", "a page down"),
        ("first", "home", "to the beginning"),
        ("last", "end", "to the end"),
        fixed=True,
    ),
    *_keys(
        "conversation",
        ("copy", "ctrl+y", "copy the entry"),
        ("drop", "delete", "take the entry out of the window, or shorten it there"),
        (
            "bring_back",
            "ctrl+z",
            "bring back what was taken out last; a message not sent: write it anew",
        ),
        ("allow", "a", "allow the call that waits"),
        ("allow_session", "s", "allow it for this session"),
        ("allow_always", "w", "allow it always"),
        ("refuse", "n", "refuse it and say why"),
        ("show_all", "e", "show all of it"),
    ),
    *_keys(
        "settings",
        ("settings_up", "up", "up"),
        ("settings_down", "down", "down"),
        ("settings_page_up", "pageup", "ten up"),
        ("settings_page_down", "pagedown", "ten down"),
        ("settings_first", "home", "to the first"),
        ("settings_last", "end", "to the last"),
        ("settings_side", "tab,shift+tab", "from the list to the rows, and back"),
        ("settings_enter", "enter", "to the rows; there: change the value"),
        ("settings_right", "right", "to the rows; there: the next choice"),
        ("settings_left", "left", "the choice before; else back to the list"),
        ("settings_back", "escape,ctrl+c", "back; at last out of the settings"),
        fixed=True,
    ),
    *_keys(
        "settings",
        ("settings_turn", "space", "turn a switch, go on to the next choice"),
        ("settings_default", "delete,backspace", "have the default count again"),
        ("settings_undo", "ctrl+z", "take the last change back"),
        ("settings_redo", "ctrl+y", "make it again"),
        ("settings_save", "s,ctrl+s", "save all changes"),
        ("settings_look", "/", "look for a setting"),
        (
            "settings_add",
            "a",
            "add a model from the servers' listings; among the servers: a server",
        ),
        ("settings_lead", "l", "have the chosen model lead"),
        ("settings_fallback", "f", "have it take over where the leading one fails"),
        ("settings_test", "t", "test it; the price is told first"),
        ("settings_remove", "d", "remove its entry, or the server's"),
        ("settings_key", "k", "set the server's key"),
        ("settings_mine", "m", "an editor saved another value: keep yours"),
        ("settings_theirs", "u", "an editor saved another value: use that one"),
        ("settings_reload", "r", "read the file again"),
        ("settings_help", "f1,?", "this help"),
        ("settings_details", "f2", "more about the latest remark"),
    ),
)
BY_ID: Mapping[str, Key] = {key.id: key for key in KEYS}
CHANGEABLE = tuple(key for key in KEYS if not key.fixed)


def keys_of(text: str) -> tuple[str, ...]:
    """The keys that a text of the file names: `Ctrl+Shift+Home` is `ctrl+shift+home`."""
    return tuple(_tidy(key) for key in text.split(",") if key.strip())


def keys_now(id: str, changed: Changed) -> tuple[str, ...]:
    """The keys of a binding."""
    return keys_of(changed.get(id, BY_ID[id].keys))


def all_changed(changed: Changed, enter: Enter) -> tuple[tuple[str, str], ...]:
    """What is other than usual, with the two that swap where Enter breaks the line."""
    pairs = [(id, ",".join(keys_of(keys))) for id, keys in changed.items()]
    if enter == "breaks":
        pairs += [("send", BY_ID["line_break"].keys), ("line_break", BY_ID["send"].keys)]
    return tuple(pairs)


def faults(changed: Changed) -> dict[str, str]:
    """What is wrong with which of the changes of bindings that can be changed. Without those the
    others are right.
    """
    found = {id: fault for id, keys in changed.items() if (fault := _fault(id, keys))}
    kept = {id: keys for id, keys in changed.items() if id not in found}
    while clash := next(_clashes(kept), None):
        id, fault = clash
        found[id] = fault
        del kept[id]
    return found


def _tidy(key: str) -> str:
    key = key.strip()
    if len(key) == 1:
        return key
    *held, last = key.lower().split("+")
    return "+".join([*sorted(held), last])


def _fault(id: str, text: str) -> str:
    part = BY_ID[id].part
    return next((fault for key in keys_of(text) if (fault := _key_fault(key, part))), "")


def _key_fault(key: str, part: Part) -> str:
    if key in STAYING:
        return f"{key} stays what it is: it {STAYING[key]}"
    if key in _ARRIVES_AS:
        return f"{key} can't be told from {_ARRIVES_AS[key]}: a terminal sends the same for both"
    *held, last = [key] if len(key) == 1 else key.split("+")
    letter = len(last) == 1 and last.isascii() and last.isprintable() and last != " "
    if not (letter or last in _NAMED) or not _HELD.issuperset(held) or len({*held}) < len(held):
        return f"there is no key {key!r}"
    return _unsent(key, held, last if letter else "") or _needed(key, held, last, part)


def _unsent(key: str, held: list[str], letter: str) -> str:
    """Why a terminal does not send it."""
    if letter and held == ["shift"]:
        return f"{key} is written as the sign itself, such as A"
    bare = held in ([], ["alt"]) or (held == ["ctrl"] and letter.isalpha())
    if (letter and not bare) or (held and key.endswith(("+space", "+escape"))):
        return f"most terminals can't send {key}"
    return ""


def _needed(key: str, held: list[str], last: str, part: Part) -> str:
    """Why it is not free where one writes."""
    writes = part in ("anywhere", "writing") and not {"ctrl", "alt"} & {*held}
    return f"{key} is needed to write" if writes and last not in _WHILE_WRITING else ""


def _clashes(changed: Changed) -> Iterator[tuple[str, str]]:
    """Changed bindings with a key that another one has, the last first. What clashes by default
    is meant to.
    """
    for id in reversed(tuple(changed)):
        usual = keys_of(BY_ID[id].keys)
        for key in keys_of(changed[id]):
            for other in KEYS:
                if other.id == id or other.part not in _WHERE[BY_ID[id].part]:
                    continue
                meant = key in usual and key in keys_of(other.keys)
                if not meant and key in keys_now(other.id, changed):
                    yield id, f"{key} is the key of {other.id} already"
