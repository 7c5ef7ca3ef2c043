"""`nodwyn sessions`: what sessions there are, and their care. `export` is `export.py`'s."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from nodwyn_tui.agent.ledger import Facts, ledger_of
from nodwyn_tui.cli import output
from nodwyn_tui.cli.asked import folder
from nodwyn_tui.cli.export import FORMS, copy_images, export, images_in
from nodwyn_tui.cli.search import search
from nodwyn_tui.cli.stored import find_log, open_log, read_events, read_facts, state_folder
from nodwyn_tui.cli.summaries import revoke, summarize
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import UsageError
from nodwyn_tui.store import places
from nodwyn_tui.store.images import ImageFiles
from nodwyn_tui.store.log import Log
from nodwyn_tui.store.sessions import SessionFacts, list_sessions
from nodwyn_tui.system.clock import moment

LONGEST_TITLE = 200


def run(arguments: Sequence[str]) -> int:
    """Does what one of the sub-commands says."""
    parsed = _parser().parse_args(arguments)
    match parsed.command:
        case "list":
            _list(folder(parsed.workspace), as_json=parsed.json)
        case "search":
            state = state_folder()
            workspaces = (
                places.known_workspaces(state) if parsed.all else [folder(parsed.workspace)]
            )
            search(parsed.text, workspaces, state, limit=parsed.limit, as_json=parsed.json)
        case "show":
            _show(parsed.id, as_json=parsed.json)
        case "export":
            _export(parsed.id, parsed.format, parsed.images)
        case "rename":
            _rename(parsed.id, parsed.title)
        case "delete":
            _delete(parsed.id, sure=parsed.yes)
        case "repair":
            _repair(parsed.id, only_look=parsed.dry_run)
        case "summarize":
            text = sys.stdin.read() if parsed.text == "-" else parsed.text
            summarize(parsed.id, parsed.first, parsed.last, text)
        case "revoke":
            revoke(parsed.id, parsed.seq)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nodwyn sessions", description="Care for sessions.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="the sessions of this workspace, the latest first")
    searching = commands.add_parser("search", help="find what was said, called or answered")
    searching.add_argument("text", help="words that must all stand in one event")
    searching.add_argument("--all", action="store_true", help="in all workspaces that are known")
    searching.add_argument(
        "--limit", type=int, default=20, metavar="N", help="finds shown of a session; default: 20"
    )
    show = commands.add_parser("show", help="a session's facts: models, requests, tokens, cost")
    exporting = commands.add_parser("export", help="a session's conversation, whole")
    exporting.add_argument("--format", choices=FORMS, default="markdown")
    exporting.add_argument(
        "--images", metavar="FOLDER", help="copy its images there; without it they are left out"
    )
    rename = commands.add_parser("rename", help="give a session a title")
    delete = commands.add_parser("delete", help="remove a session's folder for good")
    delete.add_argument("--yes", action="store_true", help="without being asked")
    repair = commands.add_parser("repair", help="list damage of a log, and mend it")
    repair.add_argument("--dry-run", action="store_true", help="only list it")
    summing = commands.add_parser("summarize", help="put a summary in place of older user turns")
    summing.add_argument("--first", type=int, required=True, metavar="SEQ")
    summing.add_argument("--last", type=int, required=True, metavar="SEQ")
    summing.add_argument("--text", required=True, help="the summary; - is standard input")
    revoking = commands.add_parser("revoke", help="take a summary back")
    for command in (show, exporting, rename, delete, repair, summing, revoking):
        command.add_argument("id", help="an id, a unique prefix, a session's folder or its log")
    rename.add_argument("title")
    revoking.add_argument("seq", type=int, help="the summary's seq")
    for command in (listing, searching):
        command.add_argument("--workspace", default=".", metavar="DIR", help="default: here")
    for command in (listing, searching, show):
        command.add_argument("--json", action="store_true", help="as JSON")
    return parser


def _list(workspace: Path, *, as_json: bool) -> None:
    found = list_sessions(workspace, state_folder())
    if as_json:
        output.json_line([_value(facts) for facts in found])
        return
    if not found:
        output.tell("no session here yet")
        return
    output.show(f"{'session':<25}  {'last used':<16}  {'events':>6}  title")
    for facts in found:
        title = " ".join((facts.title or facts.first_message or "(nothing said)").split())
        at = _local(facts.last_at)
        output.show(f"{facts.id:<25}  {at}  {facts.count:>6}  {title[:70]}")


def _value(facts: SessionFacts) -> dict[str, object]:
    return {
        "id": facts.id,
        "folder": str(facts.folder),
        "title": facts.title,
        "first_message": facts.first_message,
        "last_at": facts.last_at,
        "events": facts.count,
    }


def _show(reference: str, *, as_json: bool) -> None:
    value = facts_of(read_facts(reference))
    if as_json:
        output.json_line(value)
        return
    names = {name: name.removesuffix("_usd").replace("_", " ") for name in value}
    width = max(map(len, names.values()))
    for name, found in value.items():
        output.show(f"{names[name]:<{width}} {_for_eyes(name, found)}")


def _for_eyes(name: str, value: object) -> str:
    """A fact of `facts_of` as it is read; in JSON it stands as it is."""
    match name, value:
        case _, None:
            shown = "none; nodwyn sessions rename gives one" if name == "title" else "unknown"
        case (("began" | "last_event"), str()):
            shown = _local(value)
        case "cache_rate", float():
            shown = f"{value:.1%}"
        case "cost_usd", float():
            shown = f"${value:,.4f}"
        case _, int():
            shown = f"{value:,}"
        case _, list():
            shown = ", ".join(map(str, value))
        case _:
            shown = str(value)
    return shown


def _local(at: str) -> str:
    """A log's time to the minute, by the clock on the wall."""
    found = moment(at)
    return f"{found.astimezone():%Y-%m-%d %H:%M}" if found else f"{'unknown':<16}"


def facts_of(facts: Facts) -> dict[str, object]:
    """What `show` tells of a session; unknown is `None`."""
    return {
        "session": facts.session or None,
        "title": facts.title or None,
        "workspace": facts.workspace or None,
        "began": facts.began_at,
        "last_event": facts.last_at,
        "events": facts.events,
        "runs": facts.runs,
        "requests": facts.requests,
        "models": facts.models,
        "prompt_tokens": facts.totals.prompt_tokens,
        "cache_rate": facts.totals.cache_rate,
        "cost_usd": facts.totals.cost_usd,
        "replies_of_unknown_cost": facts.totals.unpriced,
        "recoveries": facts.recoveries,
    }


def _rename(reference: str, title: str) -> None:
    text = " ".join(title.split())[:LONGEST_TITLE]
    if not text:
        raise UsageError("the title is empty")
    with open_log(reference) as log:
        log.append(ev.SessionTitle(title=text, why="renamed"))


def _export(reference: str, form: str, into: str | None) -> None:
    events = read_events(reference)
    if into is None:
        export(events, form)
        return
    target = Path(into).expanduser().absolute()
    gone = copy_images(events, ImageFiles(find_log(reference).parent), target)
    export(events, form, target)
    if gone:
        output.tell(f"warning: {len(gone)} images are not in the store any more")


def _delete(reference: str, *, sure: bool) -> None:
    """Removes a session that nobody has open, with the images that no other one names (IMG-9)."""
    session = find_log(reference).parent
    if places.SESSION_ID.fullmatch(session.name) is None:
        raise UsageError(f"{session} is no session's folder, so it is not removed")
    with open_log(reference) as log:
        facts = ledger_of(log.archive).facts
    about = f"{session.name} ({facts.events} events): {facts.first_message[:70]}"
    if not sure and not output.confirmed(f"Remove {about} for good?"):
        raise UsageError("nothing was removed; --yes removes without being asked")
    files = ImageFiles(session)
    images = {image.sha256 for event in read_events(reference) for image in images_in(event)}
    images &= files.unnamed(besides=session)
    places.discard(session, state_folder())
    for digest in images:
        files.remove(digest)


def _repair(reference: str, *, only_look: bool) -> None:
    """Lists what is damaged; opening the log mends it and keeps what was set aside."""
    path = find_log(reference)
    damage = Log.read(path).damage
    if not damage:
        output.show("nothing is damaged")
        return
    for chunk in damage.chunks:
        output.show(f"at byte {chunk.offset:,}: {len(chunk.data):,} bytes, {chunk.why}")
    if damage.missing:
        output.show(f"lost events: {', '.join(map(str, damage.missing))}")
    if only_look:
        return
    open_log(reference).close()
    output.show(f"mended; what was set aside is in {path.parent / 'log.damaged'}")
