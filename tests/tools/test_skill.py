"""The tool `skill`: what a call is, and what it may do (ORD-10)."""

import json

import pytest

from nodwyn_tui.domain.canonical import canonical, tool_value
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.registry import default_tools, parse_arguments
from nodwyn_tui.tools.skill import SkillTool
from tests.tools.conftest import Desk


async def test_it_takes_a_skill_up_and_asks_nothing(desk: Desk) -> None:
    """AGT-8: it changes only what the session keeps, in every mode."""
    ask = await desk.ask("skill", name="release")
    assert (ask.title, ask.subject) == ("Take up the skill release", "release")
    assert (ask.touches, ask.effect, desk.tools["skill"].effect) == ((), None, "state")
    outcome = await desk.run("skill", name="release")
    assert (outcome.text, outcome.lines) == ("release is in use", 1)
    assert desk.ports.skills.used == ["release"]


async def test_one_that_is_not_there_is_told(desk: Desk) -> None:
    with pytest.raises(ToolError, match="none called 'deploy'"):
        await desk.run("skill", name="deploy")


@pytest.mark.parametrize("given", [{}, {"name": ""}, {"name": "x" * 65}, {"skill": "release"}])
def test_another_call_is_none(given: dict[str, str]) -> None:
    with pytest.raises(ToolError, match="the arguments are: name"):
        parse_arguments(SkillTool(), json.dumps(given))


def test_it_stands_behind_the_tools_that_every_session_has() -> None:
    """PERF-6: sessions without skills pay nothing for it, others less than a hundred tokens."""
    without, with_it = default_tools({}), default_tools({}, skills=True)
    assert [t.spec for t in with_it[:-1]] == [t.spec for t in without]
    assert len(canonical(tool_value(with_it[-1].spec))) < 250
