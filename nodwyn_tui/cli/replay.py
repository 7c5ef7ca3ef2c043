"""`nodwyn replay`: a session's transcript, or one of its requests rebuilt and verified.

Reads the log alone: no configuration, no workspace file, no network, no model.
"""

import argparse
from collections.abc import Sequence

from nodwyn_tui.cli import output
from nodwyn_tui.cli.stored import read_stored
from nodwyn_tui.domain.canonical import event_line, request_bytes, request_value
from nodwyn_tui.domain.events import Event
from nodwyn_tui.store.log import LogContents
from nodwyn_tui.window.replay import replay


def run(arguments: Sequence[str]) -> int:
    """Prints what was asked for."""
    parser = argparse.ArgumentParser(
        prog="nodwyn replay",
        description="Print a session, or one request rebuilt from the log and verified.",
    )
    parser.add_argument("id", help="an id, a unique prefix, a session's folder, or a log.jsonl")
    parser.add_argument("--window", type=int, metavar="SEQ", help="the request's seq (llm.req)")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    stored = read_stored(parsed.id)
    events = stored.events
    if parsed.window is not None:
        _print_window(stored, parsed.window, as_json=parsed.json)
    elif parsed.json:
        output.json_line([event_line(event) for event in events])
    else:
        _print_transcript(events)
    return 0


def _print_window(stored: LogContents, seq: int, *, as_json: bool) -> None:
    """The canonical bytes and one line end, or an object around the request."""
    window = replay(stored.events, seq, stored.damage.missing)
    if as_json:
        value = {"seq": seq, "digest": window.digest, "request": request_value(window.request)}
        output.json_line(value)
    else:
        output.data(request_bytes(window.request) + b"\n")


def _print_transcript(events: Sequence[Event]) -> None:
    """The entries as the screen would show them, as plain text."""
    from nodwyn_tui.agent.standing import standing
    from nodwyn_tui.agent.transcript import Transcript

    transcript = Transcript({event.seq: event for event in events}.get)
    for entry in transcript.load(events, standing(events)):
        body = transcript.body(entry.id)
        head = f"[{entry.seq}] {entry.kind}" + (f" · {entry.title}" if entry.title else "")
        state = "" if entry.state in ("in", "outside") else f" ({entry.state})"
        output.show(head + state + (f" · {entry.status}" if entry.status else ""))
        if body is not None and body.text.strip():
            output.show("\n".join(f"    {line}" for line in body.text.splitlines()))
