"""Whether a message can be sent at all, before it is recorded as sent."""

from nodwyn_tui.domain import events as ev
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.window.entries import fixed_tokens, message_tokens
from nodwyn_tui.window.tasks import task_row

REMEDIES = (
    "shorten it, or put it into a file and name the file",
    "/model picks a model with a larger context",
)


def too_long(message: ev.UserMessage, recipe: Recipe) -> ev.BudgetBlocked | None:
    """Why a message fits no window, not even alone with the fixed prefix; `None` if it does."""
    own = message_tokens(task_row(message, recipe))
    ceiling = recipe.window.ceiling
    if fixed_tokens(recipe.system, recipe.tools) + own <= ceiling:
        return None
    return ev.BudgetBlocked(
        reason=f"the message alone is about {own:,} tokens, where a request may hold {ceiling:,}"
        " with the system prompt and tools",
        figures={"message": own, "ceiling": ceiling, "context": recipe.num_ctx},
        remedies=REMEDIES,
    )
