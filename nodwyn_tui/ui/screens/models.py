"""The picker behind `/model`: it opens at once, and fills when the servers have answered."""

from nodwyn_tui.link.events import ModelsListed
from nodwyn_tui.ui.screens.picker import Picker
from nodwyn_tui.ui.widgets.pick_list import Choice


class Models(Picker):
    """Ends with what `SwitchModel` takes."""

    def __init__(self) -> None:
        super().__init__("Model")

    def listed(self, models: ModelsListed) -> None:
        """The models there are."""
        self.fill(
            [Choice(m.name, m.name, m.detail, current=m.current) for m in models.models],
            models.failures or (() if models.models else ("no model is configured",)),
        )
