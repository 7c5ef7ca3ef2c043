"""What the dividers of the transcript say: what happened to the window, or to the session, with the
figures. Parts of a label stand between middle dots, so that a narrow screen breaks it there.
"""

from collections.abc import Iterator, Mapping

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.window import handover
from nodwyn_tui.window.folds import BY_HAND

ROLLED: Mapping[str, str] = {
    "on-send": "rolled over before the next message",
    "mid-run": "rolled over in mid-run",
    "context-exceeded": "rolled over, a request was refused for its length",
}
"""That the window was left, by the reason in the log."""
WARNED = ("on-send", "mid-run")
"""The reasons that a warning may come before."""
DONE = {"drop": "dropped from the window", "restore": "brought back into the window"}
"""What was done with entries, in words."""


def label(event: ev.Event) -> str:
    """What stands on the divider of an event; '' for one that has none."""
    match event:
        case ev.RunEnd(why="interrupted"):
            return "interrupted"
        case ev.SessionResume():
            return "resumed"
        case ev.SkillUse():
            return f"skill {event.name} {'is in use' if event.digest else 'is put away'}"
        case ev.UnknownEvent():
            return f"an entry of another build ({event.kind})"
        case _:
            return _moved(event)


def leaves(event: ev.Event) -> bool:
    """Whether a window was left there, so that the one before it can be looked at."""
    return isinstance(event, ev.WindowReset) or (
        isinstance(event, ev.ContextOpen) and event.kind == handover.KIND
    )


def edited(event: ev.WindowEdit | ev.ResultFold) -> str:
    """What was done with an entry, by hand, or by the program, which says why."""
    if isinstance(event, ev.WindowEdit):
        return DONE[event.action]
    return "folded" if event.why == BY_HAND else "folded, out of date"


def _moved(event: ev.Event) -> str:
    """What happened to the window."""
    match event:
        case ev.LlmRequest() if event.elided:
            count = len(event.elided)
            return f"window trimmed · {count} older {'entry' if count == 1 else 'entries'} left it"
        case ev.WindowReset(kind="manual"):
            return " · ".join(_cleared(event))
        case ev.WindowReset():
            return " · ".join(_rolled(event))
        case ev.ContextOpen(kind=handover.KIND):
            return _compacted(event)
        case ev.ContextClose(report=handover.UNDONE):
            return event.report
        case _:
            return ""


def _cleared(event: ev.WindowReset) -> Iterator[str]:
    at = f" at {tokens(event.context_tokens)} tokens" if event.context_tokens else ""
    yield f"window cleared{at}"
    yield "nothing before it is sent, or looked up, again"


def _rolled(event: ev.WindowReset) -> Iterator[str]:
    """Why, how full it was, whether the model had its say, and which window was left."""
    yield ROLLED.get(event.reason, "window rolled over")
    if event.context_tokens and event.max_tokens:
        yield f"at {tokens(event.context_tokens)} of {tokens(event.max_tokens)} tokens"
    if event.too_small:
        yield "too small: it was full after a single reply"
    if event.flush_opportunity:
        yield "the model had been warned"
    elif event.reason in WARNED:
        yield "the model had no turn for its notes"
    if event.previous_window:
        yield f"window {event.previous_window} left"


def _compacted(event: ev.ContextOpen) -> str:
    if event.context_tokens is None or event.start_tokens is None:
        return "compacted"
    before, after = event.context_tokens / 1000, event.start_tokens / 1000
    return f"compacted: {before:.1f}k → {after:.1f}k tokens"
