"""What error texts and settings promise exists."""

import re
from pathlib import Path
from typing import get_args

from nodwyn_tui.cli.main import COMMANDS
from nodwyn_tui.config.schema import DialectName
from nodwyn_tui.providers.chat_completions import DIALECTS
from nodwyn_tui.ui.commands import COMMANDS as SLASH

PACKAGE = Path(__file__).parents[1] / "nodwyn_tui"


def test_dialects_of_the_settings_are_those_that_are_built() -> None:
    """PRV-2."""
    assert set(get_args(DialectName)) == set(DIALECTS)


def test_every_command_named_in_a_text_exists() -> None:
    """A remedy that names what is not there helps nobody."""
    known = {command.name for command in SLASH}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        for named in re.findall(r"`nodwyn ([a-z]+)\b", text):
            assert named in {*COMMANDS, "path"}, f"{path}: nodwyn {named}"
        for named in re.findall(r"[\"(` ]/([a-z]{3,})(?= (?:picks|starts|lists|shows)\b)", text):
            assert f"/{named}" in known or named in known, f"{path}: /{named}"
