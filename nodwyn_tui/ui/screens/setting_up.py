"""A first run on the screen: from list to list until a model is picked, each of them left by Esc
for the one before (TUI-6). The same whenever `/setup` asks for it.
"""

from dataclasses import replace
from typing import assert_never

from nodwyn_tui.link import events as up
from nodwyn_tui.link import settings, setup
from nodwyn_tui.ui import messages as news
from nodwyn_tui.ui.screens.editing import Editing
from nodwyn_tui.ui.screens.key import KeyScreen
from nodwyn_tui.ui.screens.steps import Pulls, ServerModels, Servers, Ways
from nodwyn_tui.ui.screens.waiting import Waiting

FETCHING = (
    "Ollama fetches it. Esc stops; what is there by then stays with Ollama, and the next time goes"
    " on from it."
)
STARTING = (
    "SmolLM2 with 135 million parameters runs on this machine and sends nothing anywhere. It shows"
    " how this program works; what it says is often wrong, and it uses no tools."
)
KEPT = "its key is kept"
LOST = "the worker failed, and was started again: try once more"


class SettingUp(Editing):
    """Asks and shows; the worker looks, keeps and writes."""

    _ways: tuple[setup.Way, ...] = ()
    _ways_list: Ways | None = None
    _server: setup.Way | None = None
    """The server whose key or models are asked for."""
    _of_the_hosted = False
    """Whether it was picked from the list of servers."""
    _in_a_file: bool = False
    """Whether the keyring took no key, so that a file is to."""
    _key: KeyScreen | None = None
    _typed = ""
    """The key while it is being kept."""
    _models_list: ServerModels | None = None
    _pulling = ""
    _waiting: Waiting | None = None
    _was_set_up = False
    """Whether the first run was shown."""

    # Textual calls the handlers of the stage too.

    def on_session_news(self, message: news.SessionNews) -> None:
        match message.event:
            case up.Opened(model=""):
                self._offer_first_run(message.event)
            case _:
                pass

    def on_setup_news(self, message: news.SetupNews) -> None:
        event = message.event
        match event:
            case setup.WaysFound(ways=ways):
                self._ways = ways
                if self._ways_list is not None:
                    self._ways_list.found(ways)
            case setup.PullProgress():
                self._pulled(event, message.time)
            case setup.LocalStarting():
                self._local_starts(event)
            case _:
                assert_never(event)

    def on_settings_news(self, message: news.SettingsNews) -> None:
        match message.event:
            case settings.CredentialKept() as kept:
                self._key_kept(kept)
            case settings.ServerModelsListed() as listed:
                self._listed(listed)
            case _:
                pass

    def on_worker_lost(self, _message: news.WorkerLost) -> None:
        """What was asked for is not answered any more; it can be asked again."""
        if self._key is not None:
            self._key.refused(LOST)
        if self._waiting is not None:
            self._waiting.progress.say(LOST, wrong=True)
        if self._models_list is not None and self._server is not None:
            answer = settings.ServerModelsListed(
                server=self._server.name, models=(), failures=(LOST,)
            )
            self._models_list.listed(answer)

    def set_up(self) -> None:
        """Show the ways to a first answer."""
        opened = self.header.opened
        tour = opened is not None and not (opened.model or opened.tour or opened.read_only)
        self._ways_list = Ways(tour=tour)
        self.app.push_screen(self._ways_list, self._picked_way)
        self.bridge.send(setup.FindWays())

    def pull(self, name: str) -> None:
        """Have Ollama fetch a model, this one or one from a list."""
        if not name:
            self.app.push_screen(Pulls(), self._picked_pull)
            return
        self._pulling = name
        self._waiting = Waiting(f"Fetch {name}", FETCHING, "Esc stops it")
        self.app.push_screen(self._waiting, self._left_waiting)
        self._waiting.progress.say("asks Ollama for it")
        self.bridge.send(setup.PullModel(server="ollama", model=name))

    def begin_tour(self) -> None:
        """Open the tour."""

    def _offer_first_run(self, opened: up.Opened) -> None:
        wrong = any(not problem.warning for problem in opened.problems)
        if not (self._was_set_up or opened.tour or opened.read_only or wrong):
            self._was_set_up = True
            self.call_later(self.set_up)

    def _picked_way(self, picked: str | None) -> None:
        self._ways_list, self._of_the_hosted = None, False
        kind, _, name = (picked or "").partition(":")
        match kind:
            case "model":
                self._choose("ollama", name)
            case "server":
                self._ask_models(self._way(name))
            case "hosted":
                self._list_servers()
            case "pull":
                self.pull("")
            case "local":
                self._start_local()
            case "tour":
                self.begin_tour()
            case "again":
                self.set_up()
            case _:
                pass

    def _list_servers(self) -> None:
        self.app.push_screen(Servers(self._ways), self._picked_server)

    def _picked_server(self, name: str | None) -> None:
        if not name:
            self.set_up()
            return
        self._of_the_hosted = True
        way = self._way(name)
        if way.ready:
            self._ask_models(way)
        else:
            self._ask_key(way)

    def _ask_key(self, way: setup.Way) -> None:
        self._server, self._in_a_file = way, False
        self._key = KeyScreen(way, self._keep_key)
        self.app.push_screen(self._key, self._left_key)

    def _keep_key(self, key: str) -> None:
        assert self._server is not None, "its key was asked for"
        self._typed = key
        self.bridge.send(
            settings.SetCredential(
                server=self._server.name,
                key=key,
                kept_in="file" if self._in_a_file else "keyring",
            )
        )

    def _key_kept(self, kept: settings.CredentialKept) -> None:
        """Its place is known: the server is asked with it. Without a keyring a file takes it."""
        if self._key is None:
            return
        if not kept.error:
            self.bridge.send(settings.ListServerModels(server=kept.server))
        elif self._in_a_file:
            self._key.refused(kept.error)
        else:
            self._in_a_file = True
            self._keep_key(self._typed)

    def _left_key(self, taken: bool | None) -> None:
        self._key, self._typed = None, ""
        if not taken:
            self._list_servers()

    def _ask_models(self, way: setup.Way) -> None:
        self._server = way
        self._show_models(way)
        self.bridge.send(settings.ListServerModels(server=way.name))

    def _show_models(self, way: setup.Way) -> None:
        self._models_list = ServerModels(way)
        self.app.push_screen(self._models_list, self._picked_model_of)

    def _listed(self, answer: settings.ServerModelsListed) -> None:
        if self._server is None or answer.server != self._server.name:
            return
        if self._key is not None:
            if not answer.models:
                why = answer.failures or (f"{self._server.title} lists no models",)
                self._key.refused(why[0])
                return
            self._key.dismiss(True)
            self._server = replace(self._server, ready=True, detail=KEPT)
            self._ways = tuple(
                self._server if way.name == self._server.name else way for way in self._ways
            )
            self._show_models(self._server)
        if self._models_list is not None:
            self._models_list.listed(answer)

    def _picked_model_of(self, picked: str | None) -> None:
        self._models_list = None
        way = self._server
        assert way is not None, "its models were listed"
        kind, _, name = (picked or "").partition(":")
        match kind:
            case "model":
                self._choose(way.name, name)
            case "again":
                self._ask_models(way)
            case "key":
                self._ask_key(way)
            case _ if self._of_the_hosted:
                self._list_servers()
            case _:
                self.set_up()

    def _picked_pull(self, name: str | None) -> None:
        if name:
            self.pull(name)
        else:
            self.set_up()

    def _pulled(self, event: setup.PullProgress, now: float) -> None:
        """How far the fetching is; a model that is there is taken where there is none yet."""
        if self._waiting is None or event.model != self._pulling:
            return
        self._waiting.progress.say(event.error or event.status, wrong=bool(event.error))
        if event.all_bytes:
            self._waiting.progress.measure(event.done_bytes, event.all_bytes, now)
        if event.done:
            self._waiting.dismiss(True)

    def _left_waiting(self, done: bool | None) -> None:
        pulled, self._pulling, self._waiting = self._pulling, "", None
        opened = self.header.opened
        if pulled and not done:
            self.bridge.send(setup.StopPull())
        if not done:
            self.set_up()
        elif pulled and opened is not None and opened.model:
            self.tell("info", f"{pulled} is there now: /model picks it")
        elif pulled:
            self._choose("ollama", pulled)

    def _start_local(self) -> None:
        self._waiting = Waiting("A small local model", STARTING, "Esc goes back")
        self.app.push_screen(self._waiting, self._left_waiting)
        self._waiting.progress.say("starts")
        self.bridge.send(setup.StartLocal())

    def _local_starts(self, event: setup.LocalStarting) -> None:
        """What it does meanwhile; without the first run it is a session that opens with it."""
        if self._waiting is None:
            if event.status and not event.model:
                self.tell("info", f"the small local model: {event.status}")
            return
        self._waiting.progress.say(event.error or event.status, wrong=bool(event.error))
        if event.model and not self._pulling:
            self._waiting.dismiss(True)
            self._choose(event.server, event.model)

    def _choose(self, server: str, model: str) -> None:
        self.tell("info", f"sets {model} up…")
        self.bridge.send(setup.ChooseModel(server=server, model=model))

    def _way(self, name: str) -> setup.Way:
        return next(way for way in self._ways if way.name == name)
