"""`nodwyn config`: the person's settings without the screen: where they are, what is wrong in them,
what counts and where that is from, and one of them set or taken out.
"""

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from nodwyn_tui.agent.opening import Household
from nodwyn_tui.agent.settings import Shown, prefix_of
from nodwyn_tui.agent.unsaved import Unsaved, changes_of, checked, unsaved
from nodwyn_tui.cli import output
from nodwyn_tui.cli.configured import Configured, config_option, configured, household
from nodwyn_tui.config.allowed import KeyPath
from nodwyn_tui.config.described import described
from nodwyn_tui.config.environment import read_environment
from nodwyn_tui.config.files import parse, read_text
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.config.problems import dotted
from nodwyn_tui.config.saving import save_changes
from nodwyn_tui.errors import UsageError
from nodwyn_tui.link.settings import Setting, SettingChange

WRONG = 2
"""The exit code where an entry is wrong."""


def run(arguments: Sequence[str]) -> int:
    """Does what one of the sub-commands says."""
    parsed = _parser().parse_args(arguments)
    match parsed.command:
        case "path":
            output.show(str(find_paths(read_environment(), parsed.config).config_file))
        case "check":
            return _check(parsed.config)
        case "show":
            _show(household(parsed.config), as_json=parsed.json)
        case "set":
            change(configured(parsed.config), {path_of(parsed.key): parsed.value})
        case "unset":
            change(configured(parsed.config), {path_of(parsed.key): None})
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nodwyn config", description="Your own settings.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    places = commands.add_parser("path", help="where config.toml is, or would be")
    checking = commands.add_parser(
        "check", help="name what is wrong in it; exit code 2 if anything is"
    )
    showing = commands.add_parser("show", help="each setting, what counts, and where that is from")
    showing.add_argument("--json", action="store_true", help="as JSON")
    setting = commands.add_parser("set", help="set one, keeping all else as it stands")
    removing = commands.add_parser("unset", help="take one out, so that its default counts again")
    for command in (setting, removing):
        command.add_argument("key", metavar="KEY", help='as in the file: models."a.b".effort')
    setting.add_argument("value", metavar="VALUE", help="a list has an item a line")
    for command in (places, checking, showing, setting, removing):
        config_option(command)
    return parser


def path_of(key: str) -> KeyPath:
    """The path that a key of the file means; `UsageError` for what is none."""
    try:
        node: Any = tomllib.loads(f"{key} = 0")
    except ValueError as error:
        raise UsageError(
            f'{key!r} is no key; write it as in the file: models."a.b".effort'
        ) from error
    path: KeyPath = ()
    while isinstance(node, Mapping) and len(node) == 1:
        (name, node) = next(iter(node.items()))
        path += (name,)
    return path


def _check(config_file: str) -> int:
    """Each problem a line; warnings are no errors."""
    paths = find_paths(read_environment(), config_file)
    if paths.config_given:
        read_text(paths.config_file, must_exist=True)
    found = configured(config_file)
    wrong = len(found.loaded.errors)
    if not wrong:
        output.tell(f"{found.file}: nothing is wrong")
    return WRONG if wrong else 0


def _show(home: Household, *, as_json: bool) -> None:
    models, file = home.models, home.loaded.file
    values = parse(read_text(file), file)
    shown = Shown(
        unsaved=unsaved(values, (), file, models.environment),
        environment=models.environment,
        facts=models.facts_of,
        prefix=prefix_of(home.rooms),
    )
    rows = [row for group in shown.groups() for row in group.rows]
    if as_json:
        output.json_line({"file": str(file), "settings": [_value(row) for row in rows]})
        return
    for row in rows:
        if not row.why_not or row.origin == "file":
            output.show(_line(row))


def _value(row: Setting) -> dict[str, object]:
    return {
        "key": dotted(row.path),
        "value": row.value,
        "origin": row.origin,
        "source": row.source,
        "default": row.default,
        "why_not": row.why_not,
        "problem": row.problem,
    }


def _line(row: Setting) -> str:
    where = row.origin + (f": {row.source}" if row.source else "")
    value = ", ".join(row.value.splitlines()) or "-"
    return f"{dotted(row.path):<40} {value:<32} {where}".rstrip()


def change(found: Configured, wanted: Mapping[KeyPath, str | None]) -> None:
    """Makes the changes, all or none, and tells what has no effect of them. Raises `UsageError` for
    a setting that there is not, `ConfigError` for a value that it may not have.
    """
    for path, value in wanted.items():
        _refuse_unknown(path, taken_out=value is None)
    asked = [SettingChange(path=path, value=value) for path, value in wanted.items()]
    changes = changes_of(asked)
    made: list[Unsaved] = []

    def plan(values: Mapping[str, Any]) -> Sequence[Any]:
        made.append(checked(values, changes, found.file, found.environment))
        return made[-1].changes

    save_changes(found.file, plan)
    keys = {dotted(path) for path in made[-1].paths}
    for problem in made[-1].loaded.problems:
        if problem.error.key in keys:
            output.tell(f"warning: {problem.text}")


def _refuse_unknown(path: KeyPath, *, taken_out: bool) -> None:
    is_entry = len(path) == 2 and path[0] in ("models", "servers")
    if described(path) is None and not (taken_out and is_entry):
        raise UsageError(f"there is no setting {dotted(path)}; `nodwyn config show` lists them")
