"""A small file of settings as a worker shows it: what it answers follows the changes it is sent."""

from collections.abc import Iterable
from dataclasses import replace

from nodwyn_tui.config.described import STRATEGY_COSTS
from nodwyn_tui.link import commands
from nodwyn_tui.link import events as up
from nodwyn_tui.link import settings as sets
from tests.ui.backend import Stage

FILE = "/home/you/.config/nodwyn/config.toml"
OLLAMA_ONLY = "only where the server speaks ollama's own protocol"


def row(path: str, label: str, kind: sets.SettingKind, help: str, **more: object) -> sets.Setting:
    return sets.Setting(path=tuple(path.split("/")), label=label, kind=kind, help=help, **more)


def model_rows(name: str, server: str, model: str, *, origin: str = "file") -> tuple:
    ollama = server == "ollama"
    at = f"models/{name}"
    return (
        row(f"{at}/server", "server", "text", "Where the model is reached.",
            value=server, origin=origin),
        row(f"{at}/model", "model", "text", "Its name at the server.", value=model, origin=origin),
        row(f"{at}/num_ctx", "loaded context", "number",
            "The context Ollama loads the model with, sent with every request; a larger one takes"
            " more memory.", value="98304" if ollama else "",
            origin="file" if ollama else "default",
            why_not="" if ollama else OLLAMA_ONLY),
        row(f"{at}/context", "context", "number", "Tokens that the model takes at most.",
            value="" if ollama else "1000000", origin="default" if ollama else "listing",
            source="" if ollama else "openrouter's listing, 2 hours old"),
        row(f"{at}/max_output", "reply cap", "number", "Tokens of a reply at most; costs nothing.",
            value="32000", default="8192", origin="file"),
        row(f"{at}/cache_control", "cache marks", "choice",
            "What is asked of the prompt cache. A longer lifetime costs more to write.",
            value="ephemeral", default="off", origin="file",
            choices=("off", "ephemeral", "1h", "12h"), later="from the next request on"),
        row(f"{at}/effort", "effort", "text", "How much it thinks; costs output tokens.",
            source="the server's own",
            choices=("off", "low", "medium", "high")),
        row(f"{at}/images", "images", "switch", "Whether it takes pictures.",
            value="false", default="false"),
        row(f"{at}/price/input", "price: input", "price", "US dollars per million tokens read.",
            value="2.0", origin="listing", source="openrouter's listing, 2 hours old"),
        row(f"{at}/price/output", "price: output", "price",
            "US dollars per million tokens written.", value="10.0", origin="shipped"),
    )  # fmt: skip


GROUPS = (
    sets.SettingsGroup(
        kind="model",
        name="local",
        title="local",
        note="qwen3-coder:30b on ollama. It leads.",
        mark="lead",
        rows=model_rows("local", "ollama", "qwen3-coder:30b"),
    ),
    sets.SettingsGroup(
        kind="model",
        name="cloud",
        title="cloud",
        note="anthropic/claude-sonnet-5.5 on openrouter. It takes over where local fails for good.",
        mark="fallback",
        rows=model_rows("cloud", "openrouter", "anthropic/claude-sonnet-5.5"),
    ),
    sets.SettingsGroup(
        kind="server",
        name="ollama",
        title="ollama",
        note="no key is needed",
        rows=(
            row("servers/ollama/base_url", "address", "text", "Where it is reached.",
                value="http://127.0.0.1:11434", default="http://127.0.0.1:11434",
                origin="environment", source="OLLAMA_HOST"),
        ),
    ),
    sets.SettingsGroup(
        kind="server",
        name="openrouter",
        title="openrouter",
        note="its key is there: env:OPENROUTER_API_KEY",
        rows=(
            row("servers/openrouter/base_url", "address", "text", "Where it is reached.",
                value="https://openrouter.ai/api/v1", default="https://openrouter.ai/api/v1"),
            row("servers/openrouter/credential", "credential", "text",
                "Where its key is kept; never the key itself.",
                value="env:OPENROUTER_API_KEY", default="env:OPENROUTER_API_KEY"),
        ),
    ),
    sets.SettingsGroup(
        kind="window",
        title="Window",
        rows=(
            row("window/strategy", "strategy", "choice", "What happens when the window fills.",
                value="trim", default="trim", choices=tuple(STRATEGY_COSTS),
                meanings=tuple(STRATEGY_COSTS.values())),
            row("window/high_water", "high water", "number",
                "Above so many tokens the window is trimmed.", later="from the next session on"),
            row("window/threshold", "rollover at", "price", "At this share a new window begins.",
                value="0.7", default="0.7", why_not="only with strategy = rollover"),
            row("window/task_header", "task header", "text", "Stands above each of your requests.",
                value="Your task:", default="Your task:"),
        ),
    ),
    sets.SettingsGroup(
        kind="approvals",
        title="Approvals",
        rows=(
            row("mode", "mode", "choice", "What is done unasked at first.", value="ask",
                default="ask", choices=("plan", "ask", "edits", "auto")),
            row("approvals/allow", "allowed calls", "list", "Calls that need no question.",
                value="shell: git status\nshell: uv run pytest *", origin="file"),
        ),
    ),
    sets.SettingsGroup(
        kind="limits",
        title="Limits",
        rows=(row("limits/max_steps", "requests of a run", "number", "Then it pauses and asks."),),
    ),
    sets.SettingsGroup(
        kind="appearance",
        title="Appearance",
        rows=(
            row("ui/theme", "theme", "choice", "Colours of the screen.", value="nodwyn-dark",
                default="nodwyn-dark"),
        ),
    ),
)  # fmt: skip

LISTED = sets.ServerModelsListed(
    server="",
    models=(
        sets.ServerModel(server="ollama", id="qwen3-coder:30b", entry="local", context=262_144),
        sets.ServerModel(
            server="ollama", id="gemma3:27b", context=131_072, images=True, tools=False
        ),
        sets.ServerModel(
            server="openrouter",
            id="moonshotai/kimi-k3",
            context=262_144,
            input_usd=0.6,
            output_usd=2.5,
        ),
        sets.ServerModel(server="openrouter", id="z/[bold]odd[/]", input_usd=0.0, output_usd=0.0),
    ),
    failures=("groq: no key (GROQ_API_KEY is not set)",),
)


class File:
    """The file, and a worker's answers about it. `edited` is what an editor saved meanwhile."""

    def __init__(self, stage: Stage) -> None:
        self.version = "1"
        self.values: dict[tuple[str, ...], str | None] = {}
        self.edited: dict[tuple[str, ...], str] = {}
        self.saves: list[sets.SaveSettings] = []
        self.problems: tuple[str, ...] = ()
        stage.backend.answers[sets.ShowSettings] = self.show
        stage.backend.answers[sets.SaveSettings] = self.save
        stage.backend.answers[sets.ListServerModels] = lambda _: [LISTED]

    def show(self, command: commands.Command) -> Iterable[up.UpEvent]:
        assert isinstance(command, sets.ShowSettings)
        yield self.picture(command.changes)

    def save(self, command: commands.Command) -> Iterable[up.UpEvent]:
        assert isinstance(command, sets.SaveSettings)
        self.saves.append(command)
        if command.version != self.version:
            theirs = {
                p: v for p, v in self.edited.items() if any(c.path == p for c in command.changes)
            }
            if theirs:
                yield self.picture(command.changes, theirs)
                return
        for change in command.changes:
            self.values[change.path] = change.value
        self.version += "'"
        yield sets.SettingsSaved(
            version=self.version, count=len(command.changes), later=("the theme: at once",)
        )

    def edit(self, path: str, value: str) -> None:
        """An editor saves another value."""
        at = tuple(path.split("/"))
        self.edited[at] = value
        self.values[at] = value
        self.version += "e"

    def picture(
        self, changes: tuple[sets.SettingChange, ...], theirs: dict | None = None
    ) -> sets.SettingsShown:
        changed = {change.path: change.value for change in changes}
        groups = [
            replace(
                group,
                rows=tuple(self._row(row, changed, theirs or {}) for row in group.rows),
                mark=self._mark(group, changed),
            )
            for group in GROUPS
            if self._there(group, changed)
        ]
        for path, server in {**self.values, **changed}.items():
            if path[0] == "models" and path[-1] == "server" and path[1] not in ("local", "cloud"):
                model = {**self.values, **changed}[("models", path[1], "model")]
                rows = model_rows(path[1], str(server), str(model), origin="changed")
                groups.insert(
                    2,
                    sets.SettingsGroup(
                        kind="model", name=path[1], title=path[1], fresh=True, rows=rows
                    ),
                )
        return sets.SettingsShown(
            file=FILE,
            version=self.version,
            groups=tuple(groups),
            unsaved=len(changes),
            problems=self.problems,
        )

    def _there(self, group: sets.SettingsGroup, changed: dict) -> bool:
        table = (f"{group.kind}s", group.name)
        return {**self.values, **changed}.get(table, "") is not None

    def _mark(self, group: sets.SettingsGroup, changed: dict) -> str:
        leads = {("model",): "local", ("fallback",): "cloud", **self.values, **changed}
        if group.kind != "model":
            return ""
        if leads["model",] == group.name:
            return "lead"
        return "fallback" if leads["fallback",] == group.name else ""

    def _row(self, row: sets.Setting, changed: dict, theirs: dict) -> sets.Setting:
        value = self.values.get(row.path, row.value)
        origin = "file" if row.path in self.values and value is not None else row.origin
        if row.path in self.values and value is None:
            value, origin = row.default, "default"
        if row.path in changed:
            wanted = changed[row.path]
            value, origin = row.default if wanted is None else wanted, "changed"
        problem = ""
        if row.kind == "number" and value and not value.isdigit():
            problem = f"“{value}” is not a whole number"
        return replace(
            row, value=value, origin=origin, problem=problem, theirs=theirs.get(row.path)
        )
