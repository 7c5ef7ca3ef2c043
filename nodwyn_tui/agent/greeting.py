"""What a front is told of a session that was opened: its facts, then its entries in pieces."""

from pathlib import Path

from nodwyn_tui.agent.branch import branch_of
from nodwyn_tui.agent.conversation import Emit
from nodwyn_tui.agent.ledger import Ledgers
from nodwyn_tui.agent.opening import Found, Household
from nodwyn_tui.agent.pages import Pages
from nodwyn_tui.agent.session import AUTO_REFUSED
from nodwyn_tui.agent.standing import standing
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.agent.words import NOTHING, Words, joined
from nodwyn_tui.config.schema import Settings
from nodwyn_tui.domain.keys import all_changed
from nodwyn_tui.errors import StoreError
from nodwyn_tui.link import events as up
from nodwyn_tui.link.images import Attached
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.draft import Draft
from nodwyn_tui.store.images import ImageFiles
from nodwyn_tui.store.places import LOG_NAME

NO_TOOLS = "{model} uses no tools: it answers, but reads and changes nothing here"

Prompt = tuple[str, tuple[Attached, ...], tuple[str, ...]]
"""A draft, its images, and what was sent before."""


def greet(found: Found, household: Household, emit: Emit) -> Pages | None:
    """Tells the front; gives the pages of a session that is only read here."""
    if found.folder is not None:
        return _greet_reader(found, found.folder, household, emit)
    session, command = found.session, found.command
    draft, images, history = _prompt(found, household, emit)
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
            keys=keys_told(household.loaded.settings),
            draft=draft,
            draft_images=images,
            history=history,
            tour=command.tour,
            problems=tuple(
                up.Problem(text=problem.text, warning=problem.warning)
                for problem in household.loaded.problems
            ),
            setup="" if session else household.models.setup(),
            log_path=str(session.log_path) if session else "",
            instructions=session.instructions if session else (),
        )
    )
    _tell_entries(session.pages if session else None, emit)
    if found.warning:
        emit(up.Notice(level="warning", text=found.warning))
    if session is not None:
        if household.loaded.settings.mode == "auto" and session.mode != "auto":
            emit(up.Notice(level="warning", text=AUTO_REFUSED))
        if not session.has_tools:
            emit(up.Notice(level="info", text=NO_TOOLS.format(model=session.model)))
        session.skills.tell_problems()
        session.tell_meter()
    return None


def keys_told(settings: Settings) -> tuple[tuple[str, str], ...]:
    """The keys that are other than usual, as they go up the link."""
    return all_changed(settings.keys, settings.ui.enter)


def _greet_reader(found: Found, folder: Path, household: Household, emit: Emit) -> Pages:
    archive = Archive(folder / LOG_NAME, Ledgers())
    there = standing(archive.from_start())
    pages = Pages(Transcript(archive.event, ImageFiles(folder).path), archive, lambda: there)
    emit(
        up.Opened(
            session=folder.name,
            workspace=found.command.workspace,
            read_only=True,
            holder_pid=found.holder,
            theme=household.loaded.settings.ui.theme,
            keys=keys_told(household.loaded.settings),
            log_path=str(folder / LOG_NAME),
        )
    )
    _tell_entries(pages, emit)
    return pages


def _prompt(found: Found, household: Household, emit: Emit) -> Prompt:
    """The draft, with what waited when an earlier process ended, and the history; what the disk
    does not give is left out. Where there is no prompt, all of it stays for the next one.
    """
    if found.command.headless:
        return "", (), ()
    rooms = household.rooms
    draft = Draft(Path(found.command.workspace), rooms.state, rooms.redactor)
    waited = found.session.take_undelivered() if found.session else NOTHING
    try:
        kept, history = Words(draft.read(), draft.images()), draft.history()
    except StoreError as error:
        emit(up.Notice(level="warning", text=str(error)))
        kept, history = NOTHING, ()
    whole = joined([waited, kept])
    back = found.session.runs.attachments.returned if found.session else _none
    return whole.text.strip(), back(whole.images), history


def _none(_: object) -> tuple[Attached, ...]:
    """Where there is no session, there is no store to look into."""
    return ()


def _tell_entries(pages: Pages | None, emit: Emit) -> None:
    entries, earlier = pages.latest() if pages else ((), False)
    emit(up.EntriesLoaded(entries=entries, done=True, earlier=earlier))
