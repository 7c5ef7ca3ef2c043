"""The choice of a model: among the person's entries and whatever their servers offer."""

from dataclasses import dataclass

from nodwyn_tui.config.environment import Environment
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.schema import ModelSettings, ServerSettings
from nodwyn_tui.config.servers import address_fault, default_dialect
from nodwyn_tui.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelChoice:
    """The model to talk to. `name` is the `[models]` name, else `SERVER/ID`."""

    name: str
    server_name: str
    server: ServerSettings
    model: ModelSettings


def choose_model(loaded: Loaded, environment: Environment, wanted: str = "") -> ModelChoice | None:
    """The model that `wanted` names, else the file's `model`, else its first entry; `None` where
    nothing is configured.

    A name is a `[models]` name, else `SERVER/ID`, else a bare id if exactly one server has a key.
    `ConfigError` for a name that means nothing, and for an address that may not be used.
    """
    settings = loaded.settings
    name = wanted or settings.model or next(iter(settings.models), "")
    if not name:
        return None
    model = settings.models.get(name) or _unlisted(name, loaded, environment)
    if "dialect" not in model.model_fields_set:
        model = model.model_copy(update={"dialect": default_dialect(model.server)})
    return ModelChoice(
        name=name if name in settings.models else f"{model.server}/{model.model}",
        server_name=model.server,
        server=_usable(loaded, model.server),
        model=model,
    )


def _usable(loaded: Loaded, server_name: str) -> ServerSettings:
    server = loaded.servers[server_name]  # entries on unknown servers were left out
    if fault := address_fault(server):
        raise ConfigError(f"server {server_name!r}: {fault}")
    return server


def _unlisted(name: str, loaded: Loaded, environment: Environment) -> ModelSettings:
    server, slash, model_id = name.partition("/")
    if slash and model_id and server in loaded.servers:
        return ModelSettings(server=server, model=model_id)
    keyed = servers_with_key(loaded, environment)
    if len(keyed) == 1:
        return ModelSettings(server=keyed[0], model=name)
    known = ", ".join(loaded.settings.models) or "none is configured"
    which = f"; several servers have a key: {', '.join(keyed)}" if keyed else ""
    raise ConfigError(
        f"no model is called {name!r}{which}",
        allowed=f"a name of [models] ({known}) | SERVER/ID, such as ollama/qwen3-coder:30b",
    )


def servers_with_key(loaded: Loaded, environment: Environment) -> tuple[str, ...]:
    """Names of servers whose key is at hand: a variable that is set, or a credential of another
    kind in the person's file.
    """
    found = []
    for name, server in loaded.servers.items():
        kind, _, rest = server.credential.partition(":")
        if kind and (kind != "env" or environment.get(rest.strip())):
            found.append(name)
    return tuple(found)
