"""What files a pasted or dropped text may name (IMG-1). Pure: whether they are there is looked up
by whoever asks, and only for a text that this file finds short enough.

Terminals type the paths of dropped files, each in its own way: quoted, escaped, as `file://`
addresses, on one line or several. No one reading fits all, so there are several, tried in order.
"""

import posixpath
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

LONGEST = 16_384
"""Characters of a text that may be a list of files."""
MOST = 32
"""How many files one text may name."""
LONGEST_PATH = 4_096

Token = tuple[str, ...]
"""The paths that one word of the text may mean, the likeliest first."""
Reading = tuple[Token, ...]

_WINDOWS = re.compile(r"(?i)(?:^|[\s'\"])(?:[a-z]:[\\/]|\\\\)")
_DRIVE = re.compile(r"(?i)^/?([a-z]):[\\/]")
_BAD = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")
_REFUSED = ("/dev", "/proc", "/sys")
"""Folders whose files are no files: to look at some of them is to do something."""
_ESCAPES = {"n": "\n", "t": "\t", "'": "'", '"': '"', "\\": "\\"}


def readings(text: str, home: str = "", base: str = "") -> Iterator[Reading]:
    """How a text may be read as a list of files, the likeliest first; none if it can't be one.

    `home` stands for `~`; relative paths are taken below `base`, and where that is '' they are no
    paths. Each path is absolute, in no refused folder, and on no other machine.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text or len(text) > LONGEST or _BAD.search(text):
        return
    seen: set[Reading] = set()
    for words in _splits(text):
        if not 0 < len(words) <= MOST:
            continue
        reading = tuple(tuple(_paths(word, home, base)) for word in words)
        if all(reading) and reading not in seen:
            seen.add(reading)
            yield reading


def is_refused(path: str) -> bool:
    """Whether nothing may be looked up at a path: of another machine, or of the kernel."""
    if path.startswith(("//", "\\\\")):
        return True
    plain = posixpath.normpath(path)
    return any(plain == folder or plain.startswith(f"{folder}/") for folder in _REFUSED)


def _splits(text: str) -> Iterator[list[Token]]:
    """The text cut into words, each with what it may say."""
    yield [(text, _bare(text))]
    yield [(line, _bare(line), *_unquoted(line)) for line in _lines(text)]
    if _WINDOWS.search(text):
        yield [(word,) for word in re.findall(r"\"[^\"\n]*\"|'[^'\n]*'|[^\s\"']+", text)]
        return
    for words in (_shell(text), _shell(text, lenient=True), _escaped(text)):
        yield [(word,) for word in words]


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]


def _bare(text: str) -> str:
    """The text with the backslash of each escaped character gone."""
    return text if _WINDOWS.search(text) else re.sub(r"\\(.)", r"\1", text)


def _unquoted(line: str) -> Iterator[str]:
    words = _shell(line, lenient=True)
    if len(words) == 1:
        yield words[0]


def _escaped(text: str) -> list[str]:
    """Words of a terminal that escapes spaces, and never quotes."""
    return [_bare(word) for word in re.findall(r"(?:\\.|[^\s\\])+", text)]


def _shell(text: str, *, lenient: bool = False) -> list[str]:
    """Words as a POSIX shell takes them, `$'…'` too; none where a quote stays open. `lenient` takes
    a quote as one at a word's beginning only, and lets it be escaped inside.
    """
    words: list[str] = []
    at, word, began = 0, "", False
    while at < len(text):
        char = text[at]
        opening = "$'" if text.startswith("$'", at) else char if char in "'\"" else ""
        if char.isspace():
            words += [word] if began else []
            at, word, began = at + 1, "", False
        elif opening and not (lenient and began):
            inner, at = _quoted(text, at + len(opening), opening, lenient=lenient)
            if at < 0:
                return []
            word, began = word + inner, True
        else:
            step = 2 if char == "\\" and at + 1 < len(text) else 1
            at, word, began = at + step, word + text[at + step - 1], True
    return [*words, word] if began else words


def _quoted(text: str, at: int, opening: str, *, lenient: bool) -> tuple[str, int]:
    """What stands from `at` up to the closing quote, and the place behind that; -1 for a quote that
    never closes.
    """
    inner = ""
    while at < len(text):
        char, after = text[at], text[at + 1 : at + 2]
        if char == "\\" and after and _escapes(opening, after, lenient=lenient):
            inner += _ESCAPES.get(after, after) if opening == "$'" else after
            at += 2
        elif char == opening[-1]:
            return inner, at + 1
        else:
            inner += char
            at += 1
    return "", -1


def _escapes(opening: str, after: str, *, lenient: bool) -> bool:
    match opening:
        case "$'":
            return after in _ESCAPES
        case '"':
            return after in '"\\$`'
        case _:
            return lenient and after == "'"


def _paths(words: Token, home: str, base: str) -> Iterator[str]:
    """The absolute paths that a word may mean."""
    for word in dict.fromkeys(words):
        path = _path(word, home, base)
        if path and len(path) <= LONGEST_PATH and not is_refused(path):
            yield path


def _path(word: str, home: str, base: str) -> str:
    if word[:7].lower() == "file://":
        word = _address(word)
    elif len(word) > 1 and word[0] == word[-1] and word[0] in "'\"":
        word = word[1:-1]
    if drive := _DRIVE.match(word):
        below = word[drive.end() :].replace("\\", "/")
        return f"/mnt/{drive[1].lower()}/{below}"  # where a Windows drive is under its Linux
    if home and (word == "~" or word.startswith("~/")):
        word = home + word[1:]
    if word.startswith("\\\\"):
        return ""
    if word.startswith("/"):
        return word
    return posixpath.join(base, word) if base and word else ""


def _address(word: str) -> str:
    """The path of a `file://` address; '' for another machine's, or none."""
    try:
        parts = urlsplit(word.strip())
    except ValueError:
        return ""
    if parts.netloc.lower() not in {"", "localhost"}:
        return ""
    # What is percent-encoded may hold '?' and '#'; what is not, a terminal left as it was.
    raw = parts.path + (f"?{parts.query}" if parts.query else "")
    path = unquote(raw + (f"#{parts.fragment}" if parts.fragment else ""), errors="surrogateescape")
    return "" if _BAD.search(path) else path
