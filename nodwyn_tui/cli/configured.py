"""The settings as the command line finds them, for the commands that look after them."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from nodwyn_tui.agent.opening import Household
from nodwyn_tui.cli import output
from nodwyn_tui.config.credentials import Credentials
from nodwyn_tui.config.environment import Environment, read_environment
from nodwyn_tui.config.files import Loaded, load_settings
from nodwyn_tui.config.own_keys import OwnKeys
from nodwyn_tui.config.paths import find_paths
from nodwyn_tui.config.schema import ServerSettings
from nodwyn_tui.errors import UsageError
from nodwyn_tui.link.commands import Open


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """What a command finds. `problems` were told when it was read."""

    environment: Environment
    loaded: Loaded
    credentials: Credentials

    @property
    def file(self) -> Path:
        """Where the settings are saved."""
        return self.loaded.file

    @property
    def own_keys(self) -> OwnKeys:
        """The keys that this program keeps itself."""
        return OwnKeys(self.file, self.credentials.keychain)

    def server(self, name: str) -> ServerSettings:
        """A server's settings; `UsageError` for one that is not there."""
        found = self.loaded.servers.get(name)
        if found is None:
            known = ", ".join(self.loaded.servers)
            raise UsageError(
                f"no server is called {name!r}; there are {known}. Another one needs an entry"
                f" [servers.NAME] with provider and base_url in {self.file}"
            )
        return found


def config_option(parser: argparse.ArgumentParser) -> None:
    """`--config`, as other commands have it."""
    parser.add_argument("--config", default="", metavar="FILE", help="in place of config.toml")


def household(config_file: str, *, quiet: bool = False) -> Household:
    """What a command that asks servers needs; tells what is wrong in the settings, unless that was
    done.
    """
    from nodwyn_tui.wiring import assemble

    made = assemble(Open(workspace=str(Path.cwd()), config_file=config_file))
    for problem in () if quiet else made.loaded.problems:
        output.tell(f"warning: {problem.text}")
    return made


def configured(config_file: str) -> Configured:
    """Reads the settings, and tells what is wrong in them."""
    environment = read_environment()
    paths = find_paths(environment, config_file)
    loaded = load_settings(paths.config_file, environment)
    for problem in loaded.problems:
        output.tell(f"warning: {problem.text}")
    return Configured(
        environment=environment,
        loaded=loaded,
        credentials=Credentials(environment, paths.config_file.parent),
    )
