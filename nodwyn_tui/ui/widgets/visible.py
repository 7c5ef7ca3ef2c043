"""Text from outside made inert: whatever a model, a tool or a file name holds, the terminal gets
nothing but characters to show (TUI-2, SEC-3, C58, C78).
"""

import re

_ESCAPE = re.compile(
    r"""
      (?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?                  # CSI, also cut off
    | (?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])               # OSC, DCS, SOS, PM, APC
      [^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c|\Z|(?=[\x1b\n]))
    | \x1b[ -/]*[0-~]?                                   # the others
    """,
    re.VERBOSE,
)
_OTHER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
    "|(?<![^\x00-\x7f])\u200d"  # a joiner that joins nothing is measured in several ways
)
_HIDDEN = re.compile("[\u00a0\u1680\u2000-\u200d\u202f\u205f\u3000\ufe00-\ufe0f]")
_OVERWRITTEN = re.compile(r"^.*\r(?=[^\r\n])", re.MULTILINE)


def visible(text: str) -> str:
    """`text` to read: terminal codes gone, a line that a carriage return overwrote in its last
    state, other characters that steer or hide something as a mark. Tabs and line feeds stay.
    """
    if not _OTHER.search(text):
        return text
    text = _ESCAPE.sub("", text).replace("\r\n", "\n")
    if "\r" in text:
        text = _OVERWRITTEN.sub("", text).replace("\r", "")
    return _OTHER.sub(_mark, text)


def exact(text: str) -> str:
    """`text` to judge, as in an approval, on one line: nothing is left out, everything that does
    not show by itself, line ends and unusual blanks too, is a mark. Tabs stay.
    """
    return _HIDDEN.sub(_mark, _OTHER.sub(_mark, text)).replace("\n", "␊")


def one_line(text: str) -> str:
    """`visible` on one line, as in a title: line ends become a mark, tabs a blank."""
    return visible(text).strip("\n").replace("\n", "⏎").replace("\t", " ")


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"⟨{code:04X}⟩"
