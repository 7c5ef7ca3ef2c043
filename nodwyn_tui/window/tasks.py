"""The person's requests and the plan as messages of the conversation (ENG-19)."""

from nodwyn_tui.domain.events import GatePlan, Note, UserMessage
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import UserRow

TASK_HEADER = "The person asks:"
PLAN_HEADER = "The plan as it stands:"
"""The text of a header that a recipe does not record. Never changed: old logs depend on it."""

NOTE_HEADER = "Note from the program:"


def task_row(event: UserMessage, recipe: Recipe) -> UserRow:
    """A request under the task header; a steer message, or the person's own shell output, bare."""
    if event.via in ("steer", "shell"):
        return _row(event.text)
    header = TASK_HEADER if recipe.task_header is None else recipe.task_header
    return _row(f"{header}\n\n{event.text}" if header else event.text)


def plan_row(event: GatePlan, recipe: Recipe) -> UserRow:
    """A recorded plan under the plan header."""
    header = PLAN_HEADER if recipe.plan_header is None else recipe.plan_header
    return _row(f"{header}\n\n{event.text}" if header else event.text)


def note_row(event: Note) -> UserRow:
    """A note that is for the model."""
    return _row(f"{NOTE_HEADER} {event.text}")


def _row(text: str) -> UserRow:
    return UserRow((Text(text if text.strip() else "(nothing)"),))
