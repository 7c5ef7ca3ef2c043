"""Which images the next request carries, and why it goes without the others (IMG-5, IMG-6): a fold
of the log, and of what lies in the store. Nothing is attached here.
"""

import asyncio
import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain import events as ev
from nodwyn_tui.errors import StoreError
from nodwyn_tui.link.images import ImagesWithheld, WithheldImage
from nodwyn_tui.providers.image_limits import too_many
from nodwyn_tui.store.images import Gone, ImageFiles

Why = Gone | Literal["no-vision", "other-host", "refused"]
"""Why a request goes without an image."""


@dataclass(slots=True)
class _Seen:
    """An image of the conversation: its name, the bytes of its file where the log says so, the
    lines that bear it, and the hosts that it may go to.
    """

    name: str
    size: int | None
    lines: set[int] = field(default_factory=set)
    hosts: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request: its model's origin, and the images that it went without, by why."""

    origin: str
    refused: frozenset[str]
    others: frozenset[str]

    @classmethod
    def of(cls, event: ev.LlmRequest) -> "_Asked":
        """As the log tells it."""
        without = {image.sha256: image.reason for image in event.withheld_images}
        refused = frozenset(sha for sha, why in without.items() if why == "refused")
        return cls(event.model.origin, refused, frozenset(without) - refused)


class Sight:
    """Follows a log. `withheld` holds for the next request: images by digest, with the reason."""

    def __init__(self, files: ImageFiles) -> None:
        self._files = files
        self.withheld: Mapping[str, Why] = {}
        self._seen: dict[str, _Seen] = {}
        self._asked: dict[int, _Asked] = {}
        self._refused: dict[str, set[str]] = {}
        self._taken: dict[str, set[str]] = {}
        self._doubted: set[str] = set()
        self._held: dict[str, bytes] = {}
        self._gone: dict[str, Gone] = {}
        self._told: ImagesWithheld | None = None

    def feed(self, event: ev.Event) -> None:
        """Takes the next event of the log."""
        match event:
            case ev.AttachImage():
                seen = self._seen.setdefault(event.sha256, _Seen(event.name, event.bytes))
                seen.name, seen.size = event.name, event.bytes
                seen.lines.add(event.seq)
                seen.hosts.add(event.host)
                for refused in self._refused.values():  # attached anew, it is tried anew
                    refused.discard(event.sha256)
            case ev.AttachConfirm() if event.sha256 in self._seen:
                self._seen[event.sha256].hosts.add(event.host)
            case ev.ToolResult():
                for image in event.images:
                    seen = self._seen.setdefault(image.sha256, _Seen(f"of {event.name}", None))
                    seen.lines.add(event.seq)
            case ev.LlmRequest():
                self._asked[event.seq] = _Asked.of(event)
            case ev.LlmResponse():
                self._answered(self._asked.pop(event.req, None))
            case ev.LlmError():
                self._asked.pop(event.req, None)
            case _:
                pass

    def _hosts(self, digest: str) -> set[str]:
        return self._seen[digest].hosts if digest in self._seen else set()

    def _answered(self, asked: _Asked | None) -> None:
        """What an answered request carried, its model takes; what it refused stays refused."""
        if asked is not None:
            gone = asked.refused | asked.others
            self._taken.setdefault(asked.origin, set()).update(self._seen.keys() - gone)
            self._refused.setdefault(asked.origin, set()).update(asked.refused)

    @property
    def has_images(self) -> bool:
        """Whether the session ever had any."""
        return bool(self._seen)

    async def look(self, target: Target, shown: Collection[int]) -> None:
        """Reads what the next request may carry, which is of the lines `shown`, and settles
        `withheld`.
        """
        wanted = {
            sha: seen.size for sha, seen in self._seen.items() if not seen.lines.isdisjoint(shown)
        }
        sent = [sha for sha in wanted if self._reason(sha, target) in {None, *self._gone.values()}]
        asked = {sha: wanted[sha] for sha in sent}
        found = await asyncio.to_thread(self._read, asked) if asked else {}
        self._held = {sha: data for sha, data in found.items() if isinstance(data, bytes)}
        self._gone = {sha: why for sha, why in found.items() if not isinstance(why, bytes)}
        self._settle(target, wanted)

    def settle(self, target: Target) -> None:
        """The same without reading: for another model, or after a word of the person."""
        self._settle(target, self.withheld.keys() | self._held.keys())

    def _settle(self, target: Target, wanted: Collection[str]) -> None:
        why = {sha: self._reason(sha, target) for sha in self._seen if sha in wanted}
        carried = [sha for sha, reason in why.items() if reason is None]
        carried.sort(key=lambda sha: max(self._seen[sha].lines))
        sizes = [len(self._held.get(sha, b"")) for sha in carried]
        for sha in carried[: too_many(target.ref.provider, sizes)]:
            why[sha] = "refused"
        self.withheld = {sha: reason for sha, reason in why.items() if reason is not None}

    def _reason(self, digest: str, target: Target) -> Why | None:
        """Why a model does not get an image; `None` if it does."""
        if target.facts.images is False:
            return "no-vision"
        if digest in self._refused.get(target.ref.origin, ()) or digest in self._doubted:
            return "refused"
        if not self._may_go(digest, target):
            return "other-host"
        return self._gone.get(digest)

    def _may_go(self, digest: str, target: Target) -> bool:
        host = host_of(target)
        return is_loopback(host) or host in self._hosts(digest)

    def _read(self, wanted: Mapping[str, int | None]) -> dict[str, bytes | Gone]:
        return {sha: self._files.read(sha, size) for sha, size in wanted.items()}

    def pixels(self, digest: str) -> bytes:
        """The file of an image that the next request carries. Raises `StoreError` where it went
        since it was looked at.
        """
        data = self._held.get(digest) or self._files.read(digest)
        if not isinstance(data, bytes):
            raise StoreError(f"an image went while it was sent ({data}): send the message again")
        return data

    def names(self, digests: Collection[str]) -> str:
        """What images are called, for the person."""
        return ", ".join(self._seen[sha].name for sha in digests if sha in self._seen)

    def untried(self, origin: str, carried: Collection[str]) -> set[str]:
        """Of the images of a request, those that a model never took before."""
        return set(carried) - self._taken.get(origin, set())

    def doubt(self, digests: Collection[str]) -> None:
        """Leaves images out of this step's next requests, to see whether they are why."""
        self._doubted |= set(digests)

    def trust(self) -> None:
        """Ends the doubt: what the log says of refusals holds."""
        self._doubted.clear()

    def unconfirmed(self) -> list[str]:
        """The images that wait for the person's word."""
        return [sha for sha, why in self.withheld.items() if why == "other-host"]

    def news(self, target: Target) -> ImagesWithheld | None:
        """What the person is to be told of; `None` where nothing changed."""
        images = tuple(
            WithheldImage(sha256=sha, name=self._seen[sha].name, why=why)
            for sha, why in self.withheld.items()
        )
        told = ImagesWithheld(host=host_of(target), images=images)
        before = self._told
        if told == before or not (images or (before and before.images)):
            return None
        self._told = told
        return told


def host_of(target: Target) -> str:
    """The host that a model's requests go to."""
    return (urlsplit(target.provider.endpoint.base_url).hostname or "").lower()


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, so that nothing leaves it."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
