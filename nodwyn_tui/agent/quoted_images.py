"""The images of a request that is quoted in a new window: they go along, as many as leave room to
work in; the others are named (C44).
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.words import attached, images_behind
from nodwyn_tui.domain import events as ev
from nodwyn_tui.window.build import ORDINARY
from nodwyn_tui.window.carrying import Asked
from nodwyn_tui.window.quoting import naming


def with_images(
    talk: Conversation,
    rows: Sequence[ev.Event],
    asked: Iterable[Asked],
    *,
    at: int,
    ctx: int = 0,
) -> tuple[ev.Event, ...]:
    """The rows of a new window with the latest images of what was `asked`, in place `at`, and the
    names of the others in the row that quotes it; `ctx` is the context that they are of, 0 for the
    conversation's.
    """
    found = [image for said in asked for image in images_behind(talk.event, _place(talk, said.seq))]
    shown = {row.sha256 for row in rows if isinstance(row, ev.AttachImage)}
    images = [replace(attached(image), ctx=ctx) for image in found if image.sha256 not in shown]
    gone: list[ev.AttachImage] = []
    whole = (*rows[:at], *images, *rows[at:])
    while images and talk.window(ORDINARY, *whole).estimate > talk.recipe.window.low_water:
        gone.append(images.pop(0))
        told = naming(rows, gone)
        whole = (*told[:at], *images, *told[at:])
    return whole


def _place(talk: Conversation, seq: int) -> int:
    """What the images of the words quoted at `seq` stand behind: of a lead-in's, the input that it
    came with.
    """
    return seq + 1 if isinstance(talk.event(seq), ev.WindowLeadIn) else seq
