"""File names as data: quoted wherever they hold anything unusual, so that none reads as a message
or reaches a terminal as a code, and back again (C78).
"""

import re

LONGEST_SHOWN = 400
"""Characters a shown name may have; a longer one is cut in its middle."""

_PLAIN = re.compile(r"[\w./+@,=#%^][\w./+@,=#%^~-]*\Z")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"\Z', re.DOTALL)
_HEX = "[0-9a-fA-F]"
_ESCAPE = re.compile(rf"\\(?:x({_HEX}{{2}})|u({_HEX}{{4}})|U({_HEX}{{8}})|(.))", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r"}
_BY_CHARACTER = {char: "\\" + letter for letter, char in _LETTERS.items()} | {
    '"': '\\"',
    "\\": "\\\\",
}


def quoted(name: str) -> str:
    r"""`name` as it stands in a result or a question: as it is if it is plain, else in quotes on
    one line, with `\xNN` for a byte that is no text and for a control code. `unquoted` undoes it,
    unless it had to be cut.
    """
    if _PLAIN.match(name) and name.isprintable():
        return name if len(name) <= LONGEST_SHOWN else _cut(name)
    shown = "".join(
        char if char.isprintable() and char not in '"\\' else _escaped(char) for char in name
    )
    return '"' + (shown if len(shown) <= LONGEST_SHOWN else _cut(shown)) + '"'


def unquoted(text: str) -> str:
    """The name that `quoted` shows as `text`; any other text as it is."""
    match = _QUOTED.match(text)
    return _ESCAPE.sub(_unescaped, match[1]) if match else text


def _cut(shown: str) -> str:
    half = LONGEST_SHOWN // 2
    return f"{shown[:half]}…{shown[-half:]}"


def _escaped(char: str) -> str:
    code = ord(char)
    if char in _BY_CHARACTER:
        return _BY_CHARACTER[char]
    if 0xDC80 <= code <= 0xDCFF:  # a byte of the name that is not UTF-8, as `os.fsdecode` gives it
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _unescaped(match: re.Match[str]) -> str:
    byte, short, long, char = match.groups()
    if byte:
        code = int(byte, 16)
        return chr(code if code < 0x80 else 0xDC00 + code)
    if short or long:
        code = int(short or long, 16)
        return chr(code) if code <= 0x10FFFF else match[0]
    return _LETTERS.get(char, char)
