"""`plan-write`: the plan of the session, written anew as a whole."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from nodwyn_tui.domain.canonical import clean
from nodwyn_tui.domain.events import PlanItem, PlanState
from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome


def _whole(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


class Step(Model):
    """A step of the plan."""

    text: Annotated[str, BeforeValidator(_whole)] = Field(min_length=1, max_length=500)
    state: PlanState = "todo"


class PlanArguments(Model):
    """All steps, those that are done too."""

    items: tuple[Step, ...] = Field(max_length=50)


class PlanWrite:
    """The person sees the plan; the window shows it to the model (ENG-19)."""

    effect: Effect = "state"
    arguments = PlanArguments

    def __init__(self) -> None:
        self.spec = spec_of(
            "plan-write",
            "Write the plan of a longer task, all steps anew each time, as steps begin and end.",
            PlanArguments,
        )

    async def describe(self, arguments: PlanArguments, context: Context) -> Ask:  # noqa: ARG002 - the port's form
        return Ask(title=f"Write a plan of {len(arguments.items)} steps")

    async def run(self, arguments: PlanArguments, context: Context) -> Outcome:
        items = [PlanItem(text=item.text, state=item.state) for item in arguments.items]
        context.plan.write(items)
        done = sum(item.state == "done" for item in items)
        return Outcome(text=f"plan noted: {done} of {len(items)} steps done", lines=1)
