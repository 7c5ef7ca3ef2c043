"""The transcript in pages: the latest one when a session opens, others as they are asked for."""

from collections.abc import Callable
from dataclasses import replace

from nodwyn_tui.agent.standing import Standing
from nodwyn_tui.agent.transcript import Transcript
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.store.archive import Archive

PAGE = 400
"""Lines of the log that are read for a page; about as many entries."""

WITH_BODIES = 64
"""Entries of the latest page that bear their bodies: more than a screen shows."""


class Pages:
    """Reads the log of one session page by page into its `transcript`; `standing` tells where lines
    stand in the window now.
    """

    def __init__(
        self,
        transcript: Transcript,
        archive: Archive,
        standing: Callable[[], Standing | None],
    ) -> None:
        self.transcript, self.archive = transcript, archive
        self._standing = standing

    def latest(self) -> tuple[tuple[up.Entry, ...], bool]:
        """The last entries, those in view with their bodies, and whether there are earlier ones."""
        self.archive.catch_up()
        first, last = self.archive.page(self.archive.last_seq + 1, PAGE)
        read = self._read(first, last)
        # What the disk has not taken yet stands in the transcript alone.
        unsaved = [entry for entry in self.transcript.entries.values() if entry.seq > last]
        entries = [*read, *unsaved]
        for at in range(max(len(entries) - WITH_BODIES, 0), len(entries)):
            entries[at] = replace(entries[at], body=self.transcript.body(entries[at].id))
        return tuple(entries), first > 1

    def fetch(self, wanted: commands.FetchPage) -> up.PageLoaded:
        """The page that was asked for."""
        entries: tuple[up.Entry, ...] = ()
        more = True
        place = wanted.before or wanted.after
        # Lines that are no entries' (approvals, ends of runs) may fill a page: on to the next one.
        while more and not entries:
            if wanted.before:
                first, last = self.archive.page(place, PAGE)
                place, more = first, first > 1
            else:
                first, last = self.archive.page_after(place, PAGE)
                place, more = last, last < self.archive.last_seq
            entries = self._read(first, last)
        return up.PageLoaded(entries=entries, before=wanted.before, after=wanted.after, more=more)

    def close(self) -> None:
        """For the pages of a log that is only read: gives it up."""
        self.archive.close()

    def _read(self, first: int, last: int) -> tuple[up.Entry, ...]:
        return self.transcript.load(self.archive.events(first, last), self._standing())
