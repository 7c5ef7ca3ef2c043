"""What the guide says: from the messages of a conversation to the next reply. Pure, so that the
same conversation always gets the same reply; the words are in `chapters.py`.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nodwyn_tui.tour.chapters import CHAPTERS, FAREWELL, NOTE, Call, Outcome, Step

_HEADING = re.compile(r"\*\*Tour (\d+)/\d+ · ")
_ASKS_FOR_A_NOTE = "Write a handover note"
_STOPPED = re.compile(r"refused|interrupted", re.IGNORECASE)
_PASSED = re.compile(r"^OK$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply: `thinking` and `text` may be '', `calls` are made after them."""

    text: str
    thinking: str = ""
    calls: tuple[Call, ...] = ()


def next_turn(messages: Sequence[Mapping[str, Any]], tools: Collection[str]) -> Turn:
    """The guide's reply to Ollama messages; calls are made to the named `tools` only.

    The place in the script is read from the guide's own replies: its last heading, and how many
    replies came since. A reply that was cut off before its calls is given again.
    """
    replies = [message for message in messages if _is_told(message)]
    chapter, since = _place(replies)
    if chapter is None:
        return _turn(0, CHAPTERS[0].steps[0], "", tools)
    if _ASKS_FOR_A_NOTE in str(messages[-1].get("content", "")):
        return Turn(f"{_heading(chapter)}\n\n{NOTE}")
    steps = CHAPTERS[chapter].steps
    given = min(since, len(steps) - 1)
    if _callable(steps[given], tools) and not replies[-1].get("tool_calls"):
        return _turn(chapter, steps[given], "", tools)
    if given + 1 < len(steps):
        return _turn(chapter, steps[given + 1], _results(messages), tools)
    if chapter + 1 < len(CHAPTERS):
        return _turn(chapter + 1, CHAPTERS[chapter + 1].steps[0], "", tools)
    return Turn(FAREWELL)


def _is_told(message: Mapping[str, Any]) -> bool:
    """Whether the guide said it: in a reply, or in a note that took the place of its replies."""
    if message.get("role") == "user":
        return _HEADING.search(str(message.get("content", ""))) is not None
    return message.get("role") == "assistant"


def _heading(chapter: int) -> str:
    return f"**Tour {chapter + 1}/{len(CHAPTERS)} · {CHAPTERS[chapter].title}**"


def _place(replies: Sequence[Mapping[str, Any]]) -> tuple[int | None, int]:
    """The chapter of the last heading, and the number of replies after it."""
    for since, reply in enumerate(reversed(replies)):
        if found := _HEADING.search(str(reply.get("content", ""))):
            return min(int(found[1]), len(CHAPTERS)) - 1, since
    return None, 0


def _turn(chapter: int, step: Step, results: str, tools: Collection[str]) -> Turn:
    text = step.instead.get(_outcome(results), step.text)
    if step is CHAPTERS[chapter].steps[0]:
        text = f"{_heading(chapter)}\n\n{text}"
    return Turn(text, step.thinking, _callable(step, tools))


def _outcome(results: str) -> Outcome:
    if _STOPPED.search(results):
        return "refused"
    if "FAILED" in results:
        return "failed"
    return "passed" if _PASSED.search(results) else "other"


def _callable(step: Step, tools: Collection[str]) -> tuple[Call, ...]:
    return tuple(call for call in step.calls if call.name in tools)


def _results(messages: Sequence[Mapping[str, Any]]) -> str:
    """The results that came since the guide's last reply."""
    texts: list[str] = []
    for message in reversed(messages):
        if message.get("role") == "assistant":
            break
        if message.get("role") == "tool":
            texts.append(str(message.get("content", "")))
    return "\n".join(texts)
