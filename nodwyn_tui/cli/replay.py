"""`nodwyn replay`: a session's transcript, or one of its requests rebuilt and verified.

Reads the log alone: no configuration, no workspace file, no network, no model.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence

from nodwyn_tui.cli.stored import find_log
from nodwyn_tui.domain.canonical import event_line, request_bytes, request_value
from nodwyn_tui.domain.events import Event
from nodwyn_tui.store.log import Log
from nodwyn_tui.window.replay import replay


def run(arguments: Sequence[str]) -> int:
    """Prints what was asked for."""
    parser = argparse.ArgumentParser(
        prog="nodwyn replay",
        description="Print a session, or one request rebuilt from the log and verified.",
    )
    parser.add_argument("id", help="an id, a unique prefix, a session's folder, or a log.jsonl")
    parser.add_argument("--window", type=int, metavar="SEQ", help="the request's seq (llm.req)")
    parser.add_argument("--json", action="store_true")
    parsed = parser.parse_args(arguments)
    contents = Log.read(find_log(parsed.id))
    if parsed.window is not None:
        _print_window(contents.events, parsed.window, as_json=parsed.json)
    elif parsed.json:
        print(json.dumps([event_line(e) for e in contents.events], ensure_ascii=False))  # noqa: T201 - the output
    else:
        _print_transcript(contents.events)
    return 0


def _print_window(events: Sequence[Event], seq: int, *, as_json: bool) -> None:
    """The canonical bytes and one line end, or an object around the request."""
    window = replay(events, seq)
    if as_json:
        value = {"seq": seq, "digest": window.digest, "request": request_value(window.request)}
        print(json.dumps(value, ensure_ascii=False))  # noqa: T201 - the output
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(request_bytes(window.request) + b"\n")
    sys.stdout.buffer.flush()


def _print_transcript(events: Iterable[Event]) -> None:
    """The entries as the screen would show them, as plain text."""
    from nodwyn_tui.agent.transcript import Transcript

    transcript = Transcript()
    for entry in transcript.load(events):
        body = transcript.body(entry.id)
        head = f"[{entry.seq}] {entry.kind}" + (f" · {entry.title}" if entry.title else "")
        state = "" if entry.state in ("in", "outside") else f" ({entry.state})"
        print(_inert(head + state + (f" · {entry.status}" if entry.status else "")))  # noqa: T201 - the output
        if body is not None and body.text.strip():
            print(_inert("\n".join(f"    {line}" for line in body.text.splitlines())))  # noqa: T201 - the output


def _inert(text: str) -> str:
    """Without what would act on a terminal (SEC-3)."""
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
