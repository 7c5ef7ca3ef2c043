"""What a front is told of a session that was opened: its facts, then its entries in pieces."""

from collections.abc import Sequence
from pathlib import Path

from nodwyn_tui.agent.branch import branch_of
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.opening import Found, Household
from nodwyn_tui.agent.session import AUTO_REFUSED
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.errors import StoreError
from nodwyn_tui.link import events as up
from nodwyn_tui.store.draft import Draft
from nodwyn_tui.store.places import LOG_NAME

PIECE = 500
"""Entries told at once."""


def greet(found: Found, household: Household, emit: Emit) -> Transcript | None:
    """Tells the front; gives the transcript of a session that is only read here."""
    if found.folder is not None:
        return _greet_reader(found, found.folder, emit)
    session, command = found.session, found.command
    draft, history = _prompt(found, household, emit)
    ref = session.target.ref if session else None
    emit(
        up.Opened(
            session=session.name if session else "",
            workspace=command.workspace,
            branch=branch_of(Path(command.workspace)),
            model=ref.name if ref else "",
            server=ref.server if ref else "",
            provider=ref.provider if ref else "",
            mode=session.mode if session else "ask",
            strategy=session.strategy if session else "trim",
            theme=household.loaded.settings.ui.theme,
            draft=draft,
            history=history,
            tour=command.tour,
            problems=tuple(
                up.Problem(text=problem.text, warning=problem.warning)
                for problem in household.loaded.problems
            ),
            setup="" if session else household.models.setup(),
            log_path=str(session.log_path) if session else "",
        )
    )
    _tell_entries(session.entries() if session else (), emit)
    if found.warning:
        emit(up.Notice(level="warning", text=found.warning))
    if session is not None:
        if household.loaded.settings.mode == "auto" and session.mode != "auto":
            emit(up.Notice(level="warning", text=AUTO_REFUSED))
        session.tell_meter()
    return None


def _greet_reader(found: Found, folder: Path, emit: Emit) -> Transcript:
    reader = Transcript()
    emit(
        up.Opened(
            session=folder.name,
            workspace=found.command.workspace,
            read_only=True,
            holder_pid=found.holder,
            log_path=str(folder / LOG_NAME),
        )
    )
    _tell_entries(reader.load(found.events), emit)
    return reader


def _prompt(found: Found, household: Household, emit: Emit) -> tuple[str, tuple[str, ...]]:
    """The draft, with what waited when an earlier process ended, and the history; what the disk
    does not give is left out. Where there is no prompt, all of it stays for the next one.
    """
    if found.command.headless:
        return "", ()
    rooms = household.rooms
    draft = Draft(Path(found.command.workspace), rooms.state, rooms.redactor)
    waited = found.session.take_undelivered() if found.session else []
    try:
        kept, history = draft.read(), draft.history()
    except StoreError as error:
        emit(up.Notice(level="warning", text=str(error)))
        kept, history = "", ()
    return "\n\n".join([*waited, kept]).strip(), history


def _tell_entries(entries: Sequence[up.Entry], emit: Emit) -> None:
    pieces = [tuple(entries[at : at + PIECE]) for at in range(0, len(entries), PIECE)] or [()]
    for number, piece in enumerate(pieces, 1):
        emit(up.EntriesLoaded(entries=piece, done=number == len(pieces)))
