"""`skill`: takes up one of the skills that the session began with (ORD-10). What it says, and where
that comes to stand, is the port's.
"""

from pydantic import Field

from nodwyn_tui.tools.arguments import Model, spec_of
from nodwyn_tui.tools.base import Ask, Context, Effect, Outcome


class SkillArguments(Model):
    """A name as the system prompt lists it."""

    name: str = Field(min_length=1, max_length=64)


class SkillTool:
    """Changes only what the session keeps. A skill allows nothing: what it asks for is judged as
    any other call.
    """

    effect: Effect = "state"
    arguments = SkillArguments

    def __init__(self) -> None:
        self.spec = spec_of(
            "skill",
            "Take up a skill, before the work it is for. It stays in use.",
            SkillArguments,
        )

    async def describe(self, arguments: SkillArguments, context: Context) -> Ask:  # noqa: ARG002 - the port's form
        return Ask(title=f"Take up the skill {arguments.name}", subject=arguments.name)

    async def run(self, arguments: SkillArguments, context: Context) -> Outcome:
        text = context.skills.use(arguments.name)
        return Outcome(text=text, lines=text.count("\n") + 1)
