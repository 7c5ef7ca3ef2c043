"""Whether a message can be sent at all, before it is recorded as sent."""

from collections.abc import Sequence

from nodwyn_tui.agent.conversation import Conversation
from nodwyn_tui.agent.counting import Scale
from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import UserRow
from nodwyn_tui.window.build import UNTRIMMED, Shape
from nodwyn_tui.window.entries import message_tokens
from nodwyn_tui.window.tasks import task_row

SHORTER = "shorten it, or put it into a file and name the file"
LARGER = "/model picks a model with a larger context"
COMPACT = "/compact goes on in a new window, from a note of what was done"
ANEW = "/clear starts a new window in this session, or start a new session"


def too_long(
    message: ev.UserMessage,
    conversation: Conversation,
    scale: Scale,
    images: Sequence[ev.AttachImage] = (),
) -> ev.BudgetBlocked | None:
    """Why a message fits no window, neither alone with the fixed prefix nor beside what is never
    trimmed (what the person said before); `None` if it does fit. `scale` measures a request as it
    is measured before it is sent. `images` go along.
    """
    recipe = conversation.recipe
    ceiling = recipe.window.ceiling
    with_all = conversation.window(UNTRIMMED, message, *images)
    if scale.over(with_all, ceiling) is None:
        return None
    own = scale.row(task_row(message, recipe), sum(map(_tokens, images))).tokens
    figures = {"message": own, "ceiling": ceiling, "context": recipe.num_ctx}
    if scale.prefix(recipe.system, recipe.tools).tokens + own > ceiling:
        return ev.BudgetBlocked(
            reason=f"the message alone is about {own:,} tokens, where a request may hold"
            f" {ceiling:,} with the system prompt and tools",
            figures=figures,
            remedies=(SHORTER, LARGER),
        )
    with_it = conversation.window(Shape(high_water=0), message, *images)
    least = scale.over(with_it, ceiling)
    if least is None:
        return None
    return ev.BudgetBlocked(
        reason=f"with the message, about {own:,} tokens, and your earlier ones a request would have"
        f" {least.tokens:,} tokens at least, where it may hold {ceiling:,}",
        figures=figures | {"least": least.tokens},
        remedies=(COMPACT, ANEW, SHORTER, LARGER),
    )


def does_not_fit(
    recipe: Recipe, tokens: int, *, fresh_window: bool, said: bool
) -> ev.BudgetBlocked:
    """Why a whole request is not sent where the window is not trimmed (ROL-6), and by how much it
    is too long. `fresh_window` says that it is what a new window would begin with, `said` that a
    message of the person goes with it.
    """
    compact = () if fresh_window else (COMPACT,)
    anew = () if fresh_window and said else (ANEW,)  # which carries nothing along
    shorter = (SHORTER,) if said else ()
    ceiling = recipe.window.ceiling
    where = "even in a new window, the next request" if fresh_window else "the next request"
    return ev.BudgetBlocked(
        reason=f"{where} would have about {tokens:,} tokens, where it may have {ceiling:,}: that is"
        f" {tokens - ceiling:,} too many",
        figures={"tokens": tokens, "ceiling": ceiling, "context": recipe.num_ctx},
        remedies=(*compact, *anew, *shorter, LARGER),
    )


def _tokens(image: ev.AttachImage) -> int:
    """What an image adds: itself, and the line that frames it."""
    return image.tokens + message_tokens(UserRow((Text(image.line),)))
