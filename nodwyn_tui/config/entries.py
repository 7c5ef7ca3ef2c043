"""The entry that a model gets in `config.toml`, whoever writes it: its name, and what has to stand
there for its server's sake.
"""

from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.saving import set_value
from nodwyn_tui.config.schema import ProviderName

Entry = dict[str, object]


def entry_of(server: str, provider: ProviderName, model: str, context: int | None = None) -> Entry:
    """What stands below `[models.NAME]`. `context` in tokens, where the person gives one."""
    entry: Entry = {"server": server, "model": model}
    if context:
        entry["num_ctx" if provider == "ollama" else "context"] = context
    if provider == "anthropic":
        entry["cache_control"] = "ephemeral"  # without it every request is paid in full (PRV-3)
    return entry


def lead_with(loaded: Loaded, server: str, model: str) -> str:
    """Writes that this model leads, with an entry if it has none yet; gives the entry's name.
    Raises `ConfigError` where the file cannot be changed.
    """
    entries = loaded.settings.models
    there = (name for name, each in entries.items() if (each.server, each.model) == (server, model))
    name = next(there, "")
    if not name:
        name = free_name(loaded, server, model)
        entry = entry_of(server, loaded.servers[server].provider, model)
        set_value(loaded.file, ("models", name), entry)
    set_value(loaded.file, ("model",), name)
    return name


def free_name(loaded: Loaded, server: str, model: str) -> str:
    """A name for an entry that no other one has: the end of the model's id, with the server's name
    or a number where that is taken.
    """
    end = model.rpartition("/")[2] or model
    names = [end, f"{end} ({server})"]
    names += [f"{end} ({number})" for number in range(2, len(loaded.settings.models) + 3)]
    return next(name for name in names if name not in loaded.settings.models)
