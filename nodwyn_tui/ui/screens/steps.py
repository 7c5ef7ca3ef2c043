"""The lists of a first run: the ways to a first answer, the servers, a server's models, and what
Ollama can fetch. What is picked is carried out by `setting_up.py`.
"""

from collections.abc import Sequence

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.link.settings import ServerModel, ServerModelsListed
from nodwyn_tui.link.setup import Way
from nodwyn_tui.ui.screens.picker import Picker
from nodwyn_tui.ui.widgets.pick_list import Choice

WELCOME = (
    "Pick who answers. Nothing is sent anywhere before you do; what you pick is written into"
    " config.toml, and the next start just opens."
)
PULLS = (
    ("qwen3:1.7b", "about 1.4 GB; for a small machine"),
    ("qwen3:4b", "about 2.5 GB"),
    ("qwen3:8b", "about 5.2 GB; wants 8 GB of memory"),
    ("gpt-oss:20b", "about 14 GB; wants 16 GB"),
    ("qwen3-coder:30b", "about 19 GB; wants 24 GB"),
)
"""Models of Ollama's library that call tools, the smallest first."""


class Step(Picker):
    """A list that Esc leaves for the one before it."""

    LEAVING = "Enter takes it · Esc goes back"


class Ways(Picker):
    """Ends with a kind and a name, as `server:groq`."""

    LEAVING = "Enter takes it · Esc: later, by /setup"

    def __init__(self, *, tour: bool) -> None:
        super().__init__("First things first: a model", intro=WELCOME)
        self._tour = tour

    def found(self, ways: Sequence[Way]) -> None:
        """What could answer here."""
        ollama = next((way for way in ways if way.kind == "ollama"), None)
        choices = [
            Choice(f"model:{model}", model, way.title)
            for way in ways
            if way.kind == "ollama"
            for model in way.models
        ]
        for way in ways:
            if way.kind == "server" and way.ready and way.detail:
                choices.append(Choice(f"server:{way.name}", way.title, way.detail))
            elif way.kind == "local":
                choices.append(Choice("local:", way.title, way.detail))
        if ollama and ollama.ready:
            choices.append(Choice("pull:", "Fetch a model", "Ollama downloads it, 1 GB and more"))
        choices.append(Choice("hosted:", "A hosted model", "pick a provider, paste a key"))
        if self._tour:
            choices.append(Choice("tour:", "The tour", "a scripted guide; needs no model"))
        choices.append(Choice("again:", "Look again", "for Ollama and for keys"))
        self.fill(choices, _ollama_remarks(ollama))


def _ollama_remarks(ollama: Way | None) -> tuple[str, ...]:
    if ollama is None:
        return ()
    if not ollama.ready:
        return (ollama.detail,)
    return () if ollama.models else (f"Ollama runs at {ollama.detail}, and has no model yet",)


class Servers(Step):
    """Ends with a server's name."""

    def __init__(self, ways: Sequence[Way]) -> None:
        choices = [
            Choice(way.name, way.title, way.detail or ("needs no key" if way.ready else ""))
            for way in ways
            if way.kind == "server"
        ]
        super().__init__("A hosted model", choices, "Whose model? A key is asked for next.")


class ServerModels(Step):
    """Ends with `model:ID`, `again:` or `key:`."""

    def __init__(self, way: Way) -> None:
        super().__init__(f"Models of {way.title}")
        self._way = way

    def listed(self, answer: ServerModelsListed) -> None:
        """The models, or why there are none."""
        choices = [Choice(f"model:{each.id}", each.id, _facts(each)) for each in answer.models]
        if not choices:
            choices.append(Choice("again:", "Ask again"))
        if self._way.ready and not self._way.detail:
            if not answer.models:
                choices.append(Choice("key:", "Give a key", "if it wants one after all"))
        elif self._way.key_page or not self._way.ready:
            choices.append(Choice("key:", "Give another key", "in place of the one it has"))
        self.fill(choices, answer.failures)


def _facts(model: ServerModel) -> str:
    """What matters in choosing."""
    price = ""
    if model.input_usd is not None and model.output_usd is not None:
        price = f"${model.input_usd:g} in, ${model.output_usd:g} out"
    context = f"{tokens(model.context)} tokens" if model.context else ""
    tools = "no tools" if model.tools is False else ""
    return " · ".join(part for part in (tools, context, price, model.detail) if part)


class Pulls(Step):
    """Ends with a name of Ollama's library: a listed one, or what was typed."""

    def __init__(self) -> None:
        super().__init__(
            "Fetch a model",
            [Choice(name, name, detail) for name, detail in PULLS],
            "Ollama downloads it from its library and keeps it. Type any other name it has there.",
        )

    def action_pick(self) -> None:
        """Take the marked one; where none matches, the name as it is typed."""
        chosen = self._list.chosen
        self.dismiss(chosen.name if chosen else self._list.query_text.strip())
