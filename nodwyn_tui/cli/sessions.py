"""`nodwyn sessions`: what sessions there are."""

import argparse
from collections.abc import Sequence

from nodwyn_tui.cli import output
from nodwyn_tui.cli.asked import folder
from nodwyn_tui.cli.stored import state_folder
from nodwyn_tui.store.sessions import SessionFacts, list_sessions


def run(arguments: Sequence[str]) -> int:
    """Lists the sessions of a workspace, the latest first."""
    parser = argparse.ArgumentParser(prog="nodwyn sessions")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="the sessions of this workspace, the latest first")
    listing.add_argument("--workspace", default=".", metavar="DIR", help="default: here")
    listing.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    found = list_sessions(folder(parsed.workspace), state_folder())
    if parsed.json:
        output.json_line([_value(facts) for facts in found])
        return 0
    for facts in found:
        title = " ".join((facts.title or facts.first_message or "(nothing said)").split())
        at = facts.last_at[:16].replace("T", " ")
        output.show(f"{facts.id}  {at}  {facts.count:>6}  {title[:70]}")
    return 0


def _value(facts: SessionFacts) -> dict[str, object]:
    return {
        "id": facts.id,
        "folder": str(facts.folder),
        "title": facts.title,
        "first_message": facts.first_message,
        "last_at": facts.last_at,
        "events": facts.count,
    }
