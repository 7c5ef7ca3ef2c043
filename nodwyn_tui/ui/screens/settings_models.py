"""What the settings do with models and servers: add, test, remove, lead, take over, and keys."""

from functools import partial

from nodwyn_tui.link import settings as up
from nodwyn_tui.ui.screens.add_model import AddModel, proposed
from nodwyn_tui.ui.screens.line_sheet import KeySheet, LineSheet
from nodwyn_tui.ui.screens.question import Question, Reply
from nodwyn_tui.ui.screens.settings_editing import SettingsEditing
from nodwyn_tui.ui.screens.trial_sheet import TrialSheet
from nodwyn_tui.ui.widgets.field import Field
from nodwyn_tui.ui.widgets.keys import keys_of
from nodwyn_tui.ui.widgets.setting_changes import MARKED, Path

LEAD, FALLBACK = MARKED["lead"], MARKED["fallback"]


class SettingsModels(SettingsEditing):
    """The keys work on the chosen page, wherever the keyboard is."""

    _adding: AddModel | None = None
    _trial: TrialSheet | None = None
    _keeping: KeySheet | None = None
    """Where the key was typed that is being kept."""

    @property
    def model(self) -> up.SettingsGroup | None:
        """The chosen model."""
        group = self.group
        return group if group is not None and group.kind == "model" else None

    @property
    def server(self) -> str:
        """The chosen server, or the chosen model's; '' for none."""
        group = self.group
        if group is None:
            return ""
        if group.kind == "server":
            return group.name
        rows = (row for row in group.rows if group.kind == "model" and row.path[-1] == "server")
        return next((self.changes.shown(row) for row in rows), "")

    def action_add(self) -> None:
        """Pick a model from what the servers list; among the servers, name another one."""
        if self.page is not None and "server" in self.page:
            self._add_server()
            return
        self._adding = AddModel()
        self.app.push_screen(self._adding, self._chose)
        self.tell_worker(up.ListServerModels())

    def action_lead(self) -> None:
        """Have the chosen model lead."""
        model = self._a_model("lead")
        if model is None:
            return
        if self._leads(model):
            self.tell("info", f"{model.name} leads already")
            return
        values: dict[Path, str | None] = {LEAD: model.name}
        if self._takes_over(model):
            values[FALLBACK] = None
        self.change(values)

    def action_fallback(self) -> None:
        """Have the chosen model take over where the leading one fails; again: no longer."""
        model = self._a_model("take over")
        if model is None:
            return
        if self._leads(model):
            self.tell("warning", f"{model.name} leads; another one has to take over from it")
            return
        self.change({FALLBACK: None if self._takes_over(model) else model.name})

    def action_remove(self) -> None:
        """Take the chosen model's or server's entry out, once agreed."""
        group = self.group
        if group is None or group.kind not in ("model", "server"):
            self.tell("info", "d removes a model or a server: mark one first")
            return
        own = group.fresh or any(row.origin in ("file", "changed") for row in group.rows)
        if not own:
            self.tell("info", f"{group.name} has no entry in your file: nothing to remove")
            return
        undo = keys_of(self).name("settings_undo")
        back = f" {undo} brings it back until it is saved." if undo else ""
        text = f"Take the entry “{group.name}” out?{back}"
        if self._leads(group):
            text += " It leads: name another one with l."
        replies = (Reply("y", "yes, remove it"), Reply("n", "no, keep it"))
        self.app.push_screen(Question("Remove", text, replies), partial(self._removing, group))

    def action_test(self) -> None:
        """Try the chosen model out as it would be with the changes; its price is told first."""
        model = self._a_model("be tested")
        if model is None:
            return
        self._trial = TrialSheet(model.name, self.tell_worker)
        self.app.push_screen(self._trial, self._tested)

    def action_key(self) -> None:
        """Keep a key for the chosen server."""
        server = self.server
        if not server:
            self.tell("info", "k sets a server's key: mark a model or a server first")
            return
        notes = (g.note for g in self.groups if g.kind == "server" and g.name == server)
        sheet = KeySheet(server, next(notes, ""))
        self.app.push_screen(sheet, partial(self._keep, server, sheet))

    def listed(self, event: up.ServerModelsListed) -> None:
        """What the servers list."""
        if self._adding is not None:
            self._adding.listed(event)

    def tried(self, event: up.TrialPriced | up.TrialStep | up.TrialEnded) -> None:
        """Something of a trial."""
        if self._trial is not None:
            self._trial.take(event)

    def lost(self) -> None:
        """The worker is gone, and with it what was asked of it."""
        gone = "the worker stopped: put this away, and try again"
        if self._adding is not None:
            self._adding.fill((), [gone])
        if self._trial is not None:
            self._trial.take(up.TrialEnded(model=self._trial.model, error=gone))
        self.tell("warning", "the worker stopped and is being started again; your changes are kept")

    def kept(self, event: up.CredentialKept) -> None:
        """What became of a key."""
        sheet, self._keeping = self._keeping, None
        if event.error and sheet is not None and sheet.kept_in == "keyring" and sheet.field.text:
            again = KeySheet(event.server, event.error, sheet.field.text, "file")
            self.app.push_screen(again, partial(self._keep, event.server, again))
        elif event.error:
            self.tell("error", f"the key of {event.server} was not kept: {event.error}")
        elif event.place:
            self.tell("info", f"the key of {event.server} is kept: {event.place}")
        else:
            self.tell("info", f"the key of {event.server} is forgotten")
        self.ask()

    def _leads(self, group: up.SettingsGroup) -> bool:
        return group.kind == "model" and group.name == self.changes.used_as("lead")

    def _takes_over(self, group: up.SettingsGroup) -> bool:
        return group.kind == "model" and group.name == self.changes.used_as("fallback")

    def _a_model(self, what: str) -> up.SettingsGroup | None:
        model = self.model
        if model is None:
            self.tell("info", f"only a model can {what}: mark one first")
        return model

    def _chose(self, found: str | None) -> None:
        self._adding = None
        if not found:
            return
        server, _, model = found.partition("/")
        names = [group.name for group in self.groups if group.kind == "model"]
        sheet = LineSheet(
            "Name of the new entry",
            f"{model}\non {server}. The name is yours: /model takes it.",
            Field(proposed(model, names)),
            lambda name: f"there is an entry {name} already" if name in names else "",
        )
        self.app.push_screen(sheet, partial(self._named, server, model))

    def _named(self, server: str, model: str, name: str | None) -> None:
        if name is None:
            return
        first = not any(group.kind == "model" for group in self.groups)
        values: dict[Path, str | None] = {
            ("models", name, "server"): server,
            ("models", name, "model"): model,
        }
        if first:
            values[LEAD] = name
        self.awaited = ("model", name)
        self.change(values)
        self.tell(
            "info", f"{name} is added; {keys_of(self).name('settings_save') or 'saving'} saves it"
        )

    def _add_server(self) -> None:
        names = [group.name for group in self.groups if group.kind == "server"]
        sheet = LineSheet(
            "Name of the new server",
            "Any name. The well-known ones need no entry: add a model as NAME/ID, then k.",
            Field(),
            lambda name: f"there is a server {name} already" if name in names else "",
        )
        self.app.push_screen(sheet, self._ask_address)

    def _ask_address(self, name: str | None) -> None:
        if name is not None:
            text = "Where it takes chat completions; its page has other protocols."
            sheet = LineSheet(f"Address of {name}", text, Field("http://127.0.0.1:8000/v1"))
            self.app.push_screen(sheet, partial(self._addressed, name))

    def _addressed(self, name: str, address: str | None) -> None:
        if address is not None:
            self.awaited = ("server", name)
            self.change(
                {
                    ("servers", name, "provider"): "openai",
                    ("servers", name, "base_url"): address,
                }
            )
            self.tell(
                "info",
                f"{name} is added; {keys_of(self).name('settings_save') or 'saving'} saves it",
            )

    def _removing(self, group: up.SettingsGroup, reply: str | None) -> None:
        if reply != "y":
            return
        self.changes.remove((f"{group.kind}s", group.name))
        self.at_rows = False
        self.changed()

    def _tested(self, _: None) -> None:
        self._trial = None

    def _keep(self, server: str, sheet: KeySheet, key: str | None) -> None:
        if key is not None:
            self._keeping = sheet
            self.tell_worker(up.SetCredential(server=server, key=key, kept_in=sheet.kept_in))
