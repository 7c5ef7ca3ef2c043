"""Adding a model from what the servers list: the picker, and the name that is proposed."""

from collections.abc import Collection, Iterator

from nodwyn_tui.domain.figures import tokens
from nodwyn_tui.link.settings import ServerModel, ServerModelsListed
from nodwyn_tui.ui.screens.picker import Picker
from nodwyn_tui.ui.widgets.pick_list import Choice


class AddModel(Picker):
    """Ends with `SERVER/ID`, also as it was typed; '' for none."""

    LEAVING = "Enter takes it, or the SERVER/ID that you type · Esc"

    def __init__(self) -> None:
        super().__init__("Add a model")

    def listed(self, event: ServerModelsListed) -> None:
        """What the servers answered."""
        choices = [
            Choice(f"{model.server}/{model.id}", f"{model.server}/{model.id}", facts(model))
            for model in event.models
        ]
        self.fill(choices, event.failures)

    def action_pick(self) -> None:
        """Take the marked one, or what was typed where nothing matches."""
        typed = self._list.query_text.strip()
        chosen = self._list.chosen
        if chosen is not None:
            self.dismiss(chosen.name)
        elif all(typed.partition("/")):
            self.dismiss(typed)


def facts(model: ServerModel) -> str:
    """What is known of a model, in a line."""

    def known() -> Iterator[str]:
        if model.context:
            yield tokens(model.context)
        if model.input_usd is not None and model.output_usd is not None:
            free = not (model.input_usd or model.output_usd)
            yield "free" if free else f"${model.input_usd:g} in, ${model.output_usd:g} out"
        if model.images:
            yield "images"
        if model.tools is False:
            yield "no tools"
        if model.detail:
            yield model.detail
        if model.entry:
            yield f"yours: {model.entry}"

    return " · ".join(known())


def proposed(model: str, taken: Collection[str]) -> str:
    """A short name for a model's entry that no other one has."""
    name = model.rpartition("/")[2].partition(":")[0] or model
    if name not in taken:
        return name
    return next(found for n in range(2, len(taken) + 3) if (found := f"{name}-{n}") not in taken)
