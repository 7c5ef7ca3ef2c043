"""Which encoding a model's tokens are of, where it is known for sure: OpenAI's own models by the
names that OpenAI gives them, and its open weights wherever they run (ROL-6).

A table of names, and no tokenizer: `tokenizers.py` has those, and is loaded only to count.
"""

import re
from typing import Literal

EncodingName = Literal["o200k_base", "cl100k_base"]

_VENDORS = frozenset({"", "openai", "azure"})
"""What may stand before the last slash of a closed model's id."""

_O200K = re.compile(
    r"(?:ft:)?(?:gpt-5.*|(?:chatgpt-4o|gpt-4o|gpt-4\.1|gpt-4\.5|o1|o3|o4-mini)(?:[-:].*)?)"
)
_CL100K = re.compile(r"(?:ft:)?(?:gpt-4|gpt-3\.5|gpt-3\.5-turbo|gpt-35-turbo)(?:[-:].*)?")
_OPEN = re.compile(r"gpt-oss(?:[-:].*)?")
"""Its format (`o200k_harmony`) has marks of its own; the text has the tokens of `o200k_base`."""


def encoding_for(model: str, *, local: bool) -> EncodingName | None:
    """The encoding of a model by its id; `None` where none is known.

    `local` says that the server is one of the person's own network: it may call anything by the
    name of a model that only OpenAI can run, so there the name tells nothing.
    """
    vendor, _, name = model.lower().rpartition("/")
    if _OPEN.fullmatch(name):
        return "o200k_base"
    if local or vendor.rpartition("/")[2] not in _VENDORS:
        return None
    if _O200K.fullmatch(name):
        return "o200k_base"
    return "cl100k_base" if _CL100K.fullmatch(name) else None
