"""Text from outside made clean (AGT-7, C54, C55, C58): no control code, no half character, the last
state of a progress line, never blank.
"""

import codecs
import re

from nodwyn_tui.domain.canonical import REPLACEMENT, clean

NO_OUTPUT = "(no output)"

_LONGEST_LINE = 64 * 1024
"""Characters of an unfinished line that are held back for a `\\r`; more are let go as they are."""

_LONGEST_CODE = 4096
"""Characters of an unfinished control sequence that are held back for its end."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_INTRODUCER = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f]")
_STRING = re.compile(r"\x1b[\]PX^_]|[\x90\x98\x9d-\x9f]")
_CODE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # control sequence: colours, cursor moves, modes
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])"  # operating system command and other strings
    r"[^\x07\x18\x1a\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_WHOLE_CODE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x18\x1a\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
)
_DROPPED = re.compile(r"[\x01-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]"
)


class Cleaner:
    """Cleans a stream of bytes piece by piece; what it gives, joined, is what `cleaned` gives for
    the whole. It holds back what the next piece may change: an unfinished line, code or character.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._code = ""
        self._line = ""

    @property
    def line(self) -> str:
        """The unfinished line in its present state."""
        return _last_state(self._line.rstrip("\r"))

    def feed(self, data: bytes) -> str:
        """The lines that `data` completes."""
        return self._take(self._decoder.decode(data))

    def finish(self) -> str:
        """What was held back."""
        text = self._take(self._decoder.decode(b"", final=True))
        rest = _CODE.sub("", self._code)
        text += _last_state((self._line + rest).rstrip("\r"))
        self._code = self._line = ""
        return text

    def _take(self, text: str) -> str:
        text = self._line + self._without_codes(self._code + text)
        end = text.rfind("\n") + 1
        done, held = text[:end], text[end:]
        if "\r" in done or "\b" in done:
            done = "\n".join(_last_state(line.rstrip("\r")) for line in done.split("\n"))
        if len(held) > _LONGEST_LINE:
            head, held = held[:-1], held[-1]
            done += _last_state(head)
        elif "\r" in held or "\b" in held:
            body = held.rstrip("\r")
            held = _last_state(body) + held[len(body) :][:1]
        self._line = held
        return done

    def _without_codes(self, text: str) -> str:
        self._code = ""
        if not _CONTROL.search(text):
            return text
        kept, position = [], 0
        # To seek the first sign alone, and only then the code, is ten times as fast.
        while begin := _INTRODUCER.search(text, position):
            kept.append(text[position : begin.start()])
            code = _CODE.match(text, begin.start())
            position = code.end() if code else begin.end()
            if position == len(text) and code and not _WHOLE_CODE.fullmatch(code[0]):
                self._code = _beginning(code[0])
        kept.append(text[position:])
        return _DROPPED.sub("", "".join(kept).replace("\0", REPLACEMENT))


def cleaned(text: str) -> str:
    """`text` without codes and half characters."""
    cleaner = Cleaner()
    return cleaner.feed(clean(text).encode("utf-8")) + cleaner.finish()


def never_blank(text: str) -> str:
    """`text`, or words that say there is none: providers refuse a blank result (C17)."""
    return text if text.strip() else NO_OUTPUT


def visible(text: str) -> str:
    r"""`text` with every control code, also of the writing direction, shown as `\xNN`: for file
    contents, where to leave a code out would hide what stands there.
    """
    return clean(_HIDDEN.sub(_spelled, text))


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    if match[0] == "\r":
        return r"\r"
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def _beginning(code: str) -> str:
    """What must be kept of an unfinished code to know its end: of a string, how it began."""
    string = _STRING.match(code)
    return string[0] if string else code[:_LONGEST_CODE]


def _last_state(line: str) -> str:
    r"""A line as a terminal leaves it: what follows the last `\r`, backspaces done."""
    line = line.rsplit("\r", 1)[-1]
    if "\b" not in line:
        return line
    kept: list[str] = []
    for char in line:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
