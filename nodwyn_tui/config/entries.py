"""The entry that a model gets in `config.toml` where the person gives it no name."""

from nodwyn_tui.config.changes import Change, with_consequences
from nodwyn_tui.config.files import Loaded
from nodwyn_tui.config.saving import save_changes


def lead_with(loaded: Loaded, server: str, model: str) -> str:
    """Writes that this model leads, with an entry if it has none yet; gives the entry's name.
    Raises `ConfigError` where the file cannot be changed.
    """
    entries = loaded.settings.models
    there = (name for name, each in entries.items() if (each.server, each.model) == (server, model))
    name = next(there, "")
    entry = list[Change]()
    if not name:
        name = free_name(loaded, server, model)
        path = ("models", name)
        entry = [Change((*path, "server"), server), Change((*path, "model"), model)]
    wanted = [*entry, Change(("model",), name)]
    save_changes(loaded.file, lambda values: with_consequences(values, wanted, loaded.servers))
    return name


def free_name(loaded: Loaded, server: str, model: str) -> str:
    """A name for an entry that no other one has: the end of the model's id, with the server's name
    or a number where that is taken.
    """
    end = model.rpartition("/")[2] or model
    names = [end, f"{end} ({server})"]
    names += [f"{end} ({number})" for number in range(2, len(loaded.settings.models) + 3)]
    return next(name for name in names if name not in loaded.settings.models)
