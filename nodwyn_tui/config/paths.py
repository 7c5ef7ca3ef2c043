"""Where this program's files lie. Names places only; creates nothing."""

from dataclasses import dataclass
from pathlib import Path

import platformdirs

from nodwyn_tui.config.environment import Environment
from nodwyn_tui.errors import ConfigError

APP = "nodwyn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """Absolute paths. `config_given` says that the command line named the file: it must exist."""

    config_file: Path
    state: Path
    cache: Path
    config_given: bool = False


def find_paths(environment: Environment, config_file: str = "") -> Paths:
    """The command line's `config_file`, else `NODWYN_CONFIG`, else `NODWYN_HOME`'s, else the
    platform's folder; state and cache in `NODWYN_HOME` or the platform's folders.
    """
    if environment.home:
        home = _absolute(environment.home)
        usual, state, cache = home / "config.toml", home / "state", home / "cache"
    else:
        usual = platformdirs.user_config_path(APP, appauthor=False) / "config.toml"
        state = platformdirs.user_state_path(APP, appauthor=False)
        cache = platformdirs.user_cache_path(APP, appauthor=False)
    named = config_file or environment.config_file
    return Paths(
        config_file=_absolute(named) if named else usual,
        state=state,
        cache=cache,
        config_given=bool(config_file),
    )


def _absolute(text: str) -> Path:
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # no home folder to put in place of `~`
        raise ConfigError(f"{text}: {error}; give the full path") from error
