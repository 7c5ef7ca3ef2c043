"""Stored sessions, for the commands that work on logs alone."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from nodwyn_tui.agent.ledger import Facts, Ledgers, ledger_of
from nodwyn_tui.cli.asked import folder
from nodwyn_tui.config.credentials import Credentials
from nodwyn_tui.config.environment import read_environment
from nodwyn_tui.config.files import load_settings
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.domain.events import Event
from nodwyn_tui.errors import UsageError
from nodwyn_tui.store import sessions
from nodwyn_tui.store.archive import Archive
from nodwyn_tui.store.log import Log, LogContents
from nodwyn_tui.store.redact import Redactor
from nodwyn_tui.system.clock import SystemClock


def find_log(reference: str) -> Path:
    """The log that an id, a prefix, a folder or a path means; `UsageError` for none."""
    return sessions.find_log(reference, folder("."), state_folder())


def read_events(reference: str) -> Sequence[Event]:
    """A stored session's events. `UsageError` as of `read_stored`."""
    return read_stored(reference).events


def read_stored(reference: str) -> LogContents:
    """A stored session's events, and what damaged its log. `UsageError` where there is no session,
    or a file holds none.
    """
    log = find_log(reference)
    contents = Log.read(log)
    if not contents.events:
        raise UsageError(f"{log} holds no event of a session; name its log.jsonl, folder or id")
    return contents


def read_facts(reference: str) -> Facts:
    """What is known of a stored session as a whole; `UsageError` as for `read_events`."""
    log = find_log(reference)
    with contextlib.closing(Archive(log, Ledgers())) as archive:
        sound = archive.catch_up()
        facts = ledger_of(archive).facts
    if not sound:
        facts = Facts()
        for event in Log.read(log).events:
            facts.feed(event)
    if not facts.events:
        raise UsageError(f"{log} holds no event of a session; name its log.jsonl, folder or id")
    return facts


def open_log(reference: str) -> Log:
    """A stored session's log to append to, without the keys that this person has (SEC-1).

    Raises `UsageError` for none and for a mere copy, `SessionLocked` while it is at work.
    """
    environment = read_environment()
    settings = load_settings(find_paths(environment).config_file, environment)
    credentials = Credentials(environment, settings.file.parent)
    redactor = Redactor(credentials.held(settings.servers.values()))
    session = sessions.find(reference, folder("."), state_folder())
    log, _ = Log.open(session, SystemClock(), redactor, Ledgers())
    return log


def state_folder() -> Path:
    """Where the list of workspaces is, and the sessions of those that cannot be written."""
    return find_paths(read_environment()).state
