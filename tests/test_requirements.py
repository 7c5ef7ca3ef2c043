"""docs/requirements.md names, for each id, the tests that pin it."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "tools" / "fill-requirements"), run_name="tool")
TEXT = (ROOT / "docs" / "requirements.md").read_text()


def test_tests_column_is_in_step() -> None:
    """`tools/fill-requirements` writes it."""
    assert TOOL["filled"](TEXT) == TEXT


def test_every_requirement_has_a_test() -> None:
    assert re.findall(r"(?m)^\| (\S+) \|.*\|\s*\|$", TEXT) == []
