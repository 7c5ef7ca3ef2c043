"""The picker behind `/skills`: which there are, whose they are, which are in use."""

from collections.abc import Iterator

from nodwyn_tui.link.events import SkillFacts, SkillsListed
from nodwyn_tui.ui.screens.picker import Picker
from nodwyn_tui.ui.widgets.pick_list import Choice

PROBLEMS = 3
"""How many are told below the list."""
WHOSE = {"person": "yours", "workspace": "here"}


class Skills(Picker):
    """Ends with what `PickSkill` takes."""

    LEAVING = "Enter takes it up, or puts it away · Esc"

    def __init__(self, listed: SkillsListed) -> None:
        self._listed = listed
        super().__init__("Skills")

    def on_mount(self) -> None:
        self.fill([_choice(skill) for skill in self._listed.skills], [*_remarks(self._listed)])


def _choice(skill: SkillFacts) -> Choice:
    detail = f"{WHOSE[skill.keeper]} · {skill.description}"
    return Choice(skill.name, skill.name, detail, current=skill.in_use)


def _remarks(listed: SkillsListed) -> Iterator[str]:
    if not listed.skills:
        yield "a skill is a folder with a SKILL.md; put it into " + " or ".join(listed.places)
    yield from listed.problems[:PROBLEMS]
    if (more := len(listed.problems) - PROBLEMS) > 0:
        yield f"and {more:,} more"
