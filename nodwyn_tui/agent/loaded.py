"""Whether Ollama really holds a model with the context that a session counts on (PRV-7)."""

import asyncio
from contextlib import suppress

from nodwyn_tui.agent.target import Target
from nodwyn_tui.errors import ProviderError

PATIENCE_S = 2.0
"""The run waits for it, so not for long: a server that just replied answers at once."""

SMALLER = (
    "{server} holds {model} with a context of {loaded:,} tokens, where this session counts on"
    " {wanted:,}: what is longer is cut or refused. Set num_ctx = {loaded} in the model's entry of"
    " config.toml, or have Ollama load it larger: more memory, another model, a new Ollama."
)


class LoadedContext:
    """Asks after the first reply of a run, and tells each finding once."""

    def __init__(self) -> None:
        self._told: tuple[str, int] | None = None

    async def remark(self, target: Target) -> str:
        """What the person must know, '' if nothing new: also where the server does not say."""
        wanted = target.parameters.num_ctx
        if target.ref.provider != "ollama" or wanted is None:
            return ""
        loaded = None
        with suppress(ProviderError, TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                loaded = await target.provider.catalogue.loaded_context(target.ref.id)
        finding = (target.ref.origin, loaded) if loaded is not None and loaded < wanted else None
        if finding is None or finding == self._told:
            return ""
        self._told = finding
        ref = target.ref
        return SMALLER.format(server=ref.server, model=ref.id, loaded=loaded, wanted=wanted)
