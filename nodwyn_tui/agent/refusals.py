"""Requests that a provider refused because of their images (IMG-5, C36, C45). Providers say so in
many words, or in none: the likeliest images are left out once, and the answer tells.
"""

import re
from collections.abc import Collection

from nodwyn_tui.agent.sight import Sight
from nodwyn_tui.agent.target import Target
from nodwyn_tui.domain.parts import Image
from nodwyn_tui.errors import ProviderError
from nodwyn_tui.window.build import Window

REFUSED = "image refused"
"""Why a note on it is there."""

_KINDS = frozenset({"invalid_request", "server_error", "not_found", "refused_content"})
_WORDS = re.compile(r"image|vision|multi-?modal|picture|mmproj", re.IGNORECASE)
_TOO_LARGE = 413

_TOLD = (
    "{server} did not take the request: {why}. It is asked again without {names}, which {model} is"
    " not sent from now on. Attach a smaller image, or pick a model that takes images (/model)."
)


def spared(sight: Sight, target: Target, window: Window, error: ProviderError) -> set[str]:
    """The images that the request is sent again without: first those that this model never took,
    and all where it says that images are why. None where they are not.
    """
    carried = {
        part.sha256
        for row in window.request.messages
        for part in row.parts
        if isinstance(part, Image)
    }
    untried = sight.untried(target.ref.origin, carried)
    if _WORDS.search(f"{error.message} {error.detail}") or error.status == _TOO_LARGE:
        return untried or carried
    return untried if error.kind in _KINDS else set()


def told(sight: Sight, target: Target, images: Collection[str], error: ProviderError) -> str:
    """What the person is told of it."""
    return _TOLD.format(
        server=target.ref.server,
        why=error.message,
        names=sight.names(images),
        model=target.ref.name,
    )
