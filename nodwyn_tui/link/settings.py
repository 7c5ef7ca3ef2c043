"""Settings over the link: what a front asks of `config.toml`, and what it is shown of it (TUI-5).

The front keeps no settings, only the changes that were not saved yet. It sends them all along each
time, and is shown the file as it would be with them: values, what applies, and what is wrong.
"""

from typing import Literal

from nodwyn_tui.link.record import Record

SettingKind = Literal["text", "number", "switch", "choice", "list", "price"]
SettingOrigin = Literal["default", "listing", "shipped", "file", "environment", "changed"]


class SettingChange(Record):
    """One key of `config.toml` and what is to stand there, as the person typed it; `None` takes the
    key out, so that its default counts again. A `list` has an item a line, a `switch` is `true` or
    `false`.

    A model is added by its `("models", NAME, "server")` and `("models", NAME, "model")`, a server
    by its provider and address; `None` for `("models", NAME)` takes the whole table out. What leads
    and what takes over are `("model",)` and `("fallback",)`, and the theme is `("ui", "theme")`.
    """

    path: tuple[str, ...]
    value: str | None


class Setting(Record):
    """A row. `value` is what counts now ('' for nothing), `default` what would count without the
    file; both as they are typed. `why_not` says why the setting does not apply (then it is shown
    and not taken), `problem` what is wrong with the value, `theirs` what an editor saved meanwhile
    where it and the change differ. `later` says when a change takes effect, where not at once.
    `meanings` say of each of the `choices` what it does and costs, where there is more to say.
    """

    path: tuple[str, ...]
    label: str
    kind: SettingKind
    help: str
    value: str = ""
    default: str = ""
    origin: SettingOrigin = "default"
    source: str = ""
    choices: tuple[str, ...] = ()
    meanings: tuple[str, ...] = ()
    why_not: str = ""
    problem: str = ""
    theirs: str | None = None
    later: str = ""


class SettingsGroup(Record):
    """The rows of one model, one server, or one part of the settings. `kind` is the page it stands
    on; `name` is the person's own for models and servers. `note` is a line about all of it: that
    the model leads, that the server's key is there or not, and where.
    """

    kind: Literal[
        "general", "model", "server", "window", "approvals", "limits", "appearance", "keys"
    ]
    name: str = ""
    title: str
    note: str = ""
    mark: Literal["", "lead", "fallback"] = ""
    rows: tuple[Setting, ...] = ()
    fresh: bool = False


class ShowSettings(Record):
    """Ask for `SettingsShown`: the file as it would be with `changes`."""

    changes: tuple[SettingChange, ...] = ()


class SaveSettings(Record):
    """Write the changes into the file, all or none. `version` is that of the file the changes were
    made on: where it is another one by now, only what the editor did not touch is written over;
    the rest comes back in `SettingsShown` with `theirs`, and nothing is written, unless `over`.
    """

    changes: tuple[SettingChange, ...]
    version: str
    over: bool = False


class TestModel(Record):
    """Try a model out (PRV-12): first `TrialPriced` says what it costs; with `agreed` it is done,
    and `TrialStep` comes for each finding, then `TrialEnded`.
    """

    __test__ = False  # no test of pytest's

    model: str
    agreed: bool = False


class StopTrial(Record):
    """Stop what `TestModel` began."""


class ListServerModels(Record):
    """Ask one server, or all (''), for its models: `ServerModelsListed`."""

    server: str = ""


class SetCredential(Record):
    """Keep a key for a server (`keyring`, or a private file beside the configuration), and name the
    place in the server's entry; '' forgets it. `CredentialKept` follows. The key is in no log.
    """

    server: str
    key: str
    kept_in: Literal["keyring", "file"] = "keyring"


class SettingsShown(Record):
    """The settings with the changes that were sent along. `problems` are those of no row."""

    file: str
    version: str
    groups: tuple[SettingsGroup, ...]
    problems: tuple[str, ...] = ()
    unsaved: int = 0


class SettingsSaved(Record):
    """The changes are in the file. `later` says, a line each, what takes effect when."""

    version: str
    count: int
    later: tuple[str, ...] = ()


class SettingsRefused(Record):
    """Nothing was written, and why."""

    reason: str


class TrialPriced(Record):
    """What a trial sends at most, and costs; `None` where the price is unknown."""

    model: str
    prompt_tokens: int
    cost_usd: float | None = None


class TrialStep(Record):
    """One finding of a trial: `None` where it could not be told."""

    label: str
    good: bool | None
    detail: str = ""


class TrialEnded(Record):
    """The trial is over; `error` is why it could not be carried out."""

    model: str
    error: str = ""
    remedy: str = ""


class ServerModel(Record):
    """A model in a server's listing, with what is known of it; `None` is unknown. `entry` is the
    name of the person's entry for it, if there is one.
    """

    server: str
    id: str
    entry: str = ""
    context: int | None = None
    input_usd: float | None = None
    output_usd: float | None = None
    images: bool | None = None
    tools: bool | None = None
    detail: str = ""


class ServerModelsListed(Record):
    """What the servers list, and why others do not, a line each."""

    server: str
    models: tuple[ServerModel, ...]
    failures: tuple[str, ...] = ()


class CredentialKept(Record):
    """A key is kept at `place` (as `credential` names it), or was not: `error`."""

    server: str
    place: str = ""
    error: str = ""


SettingsCommand = (
    ShowSettings | SaveSettings | TestModel | StopTrial | ListServerModels | SetCredential
)
SettingsEvent = (
    SettingsShown
    | SettingsSaved
    | SettingsRefused
    | TrialPriced
    | TrialStep
    | TrialEnded
    | ServerModelsListed
    | CredentialKept
)
