"""The person's requests and the plan as messages of the conversation (ENG-19)."""

from collections.abc import Sequence

from nodwyn_tui.domain.events import Event, GatePlan, Note, UserMessage
from nodwyn_tui.domain.parts import Text
from nodwyn_tui.domain.recipe import Recipe
from nodwyn_tui.domain.request import UserRow
from nodwyn_tui.window.policy import Policy

TASK_HEADER = "The person asks:"
PLAN_HEADER = "The plan as it stands:"
"""The text of a header that a recipe does not record. Never changed: old logs depend on it."""

NOTE_HEADER = "Note from the program:"


def task_row(event: UserMessage, recipe: Recipe) -> UserRow:
    """A request under the task header; a steer message, or the person's own shell output, bare."""
    if event.via in ("steer", "shell"):
        return bare_row(event.text)
    return bare_row(_under(recipe.task_header, TASK_HEADER, event.text))


def plan_row(event: GatePlan, recipe: Recipe) -> UserRow:
    """A recorded plan under the plan header."""
    return bare_row(_under(recipe.plan_header, PLAN_HEADER, event.text))


def system_with_task(recipe: Recipe, policy: Policy, events: Sequence[Event]) -> str:
    """The system prompt of recipes before 15: the session's, the current task, its plan."""
    task_header = recipe.task_header if policy.headers else None
    plan_header = recipe.plan_header if policy.headers else None
    pieces = [recipe.system]
    task = plan = ""
    for event in events:
        if isinstance(event, UserMessage) and not event.rejected and event.via == "prompt":
            # A new request ends the plan of the one before.
            task, plan = event.text, ""
        elif isinstance(event, GatePlan):
            plan = event.text
    if task:
        pieces.append(_under(task_header, TASK_HEADER, task))
    if plan:
        pieces.append(_under(plan_header, PLAN_HEADER, plan))
    return "\n\n".join(pieces)


def _under(header: str | None, default: str, text: str) -> str:
    header = default if header is None else header
    return f"{header}\n\n{text}" if header else text


def note_row(event: Note) -> UserRow:
    """A note that is for the model."""
    return bare_row(f"{NOTE_HEADER} {event.text}")


def bare_row(text: str) -> UserRow:
    """Text without a header; never blank."""
    return UserRow((Text(text if text.strip() else "(nothing)"),))
