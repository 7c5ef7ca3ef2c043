"""The fixed prefix, which every cold start pays (PERF-6)."""

from nodwyn_tui.agent.prompt import SYSTEM
from nodwyn_tui.domain.canonical import canonical, tool_value
from nodwyn_tui.tools.registry import default_tools
from nodwyn_tui.window.entries import fixed_tokens


def test_prompt_and_tools_stay_under_4000_tokens() -> None:
    """By the engine's own estimate, which counts more than any tokenizer does of such text."""
    specs = tuple(tool.spec for tool in default_tools({}))
    assert fixed_tokens(SYSTEM, specs) < 2_000
    assert len(SYSTEM.encode()) + len(canonical([tool_value(spec) for spec in specs])) < 6_000


def test_prompt_names_nothing_that_changes() -> None:
    """It holds no date, folder, branch or mode."""
    lowered = SYSTEM.lower()
    assert not any(word in lowered for word in ("today", "date:", "branch:", "/home", "mode:"))
