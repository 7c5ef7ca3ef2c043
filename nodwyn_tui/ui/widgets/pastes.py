"""Large pastes as short stand-ins in the prompt: `[pasted 10,000 lines #1]` (TUI-7, C60)."""

import re

_LARGE_LINES = 10
_LARGE_CHARACTERS = 1500
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")
_OTHER_LINE_ENDS = re.compile("[\u2028\u2029]")


def clean(text: str) -> str:
    r"""Text from outside as the prompt may hold it: line ends are `\n`, and nothing in it steers a
    terminal.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _HALVES.sub("\ufffd", _STEERING.sub("", text))


def is_large(text: str) -> bool:
    """Whether a paste is better shown as a stand-in. One with line ends that an editor would turn
    into others is, too: its stand-in keeps it as it is.
    """
    return (
        text.count("\n") >= _LARGE_LINES
        or len(text) > _LARGE_CHARACTERS
        or bool(_OTHER_LINE_ENDS.search(text))
    )


class Pastes:
    """The stand-ins of one prompt, and the texts they stand for."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def fold(self, text: str) -> str:
        """A stand-in for a text."""
        lines = text.count("\n") + (not text.endswith("\n"))
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        label = f"[pasted {size} #{len(self._texts) + 1}]"
        self._texts[label] = text
        self._pattern = re.compile("|".join(map(re.escape, self._texts)))
        return label

    def whole(self, text: str) -> str:
        """A text with what its stand-ins stand for."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: self._texts[match[0]], text)

    def text_of(self, label: str) -> str:
        """What a stand-in stands for."""
        return self._texts[label]

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where stand-ins are in a line."""
        if self._pattern is None:
            return []
        return [match.span() for match in self._pattern.finditer(line)]
