"""A redaction marker in a text to be written would put the marker where a secret stands (ENG-6)."""

import re

from nodwyn_tui.errors import ToolError

_MARKER = re.compile(r"\[redacted:[\w.-]+\]")


def refuse_markers(texts: tuple[str, ...], present: str, seen: bool) -> None:
    """Raises `ToolError` if one of `texts` holds a marker, where the model was shown any (`seen`),
    that is not part of the file itself, whose text is `present`.
    """
    if not seen:
        return
    for text in texts:
        for marker in _MARKER.findall(text):
            if marker not in present:
                raise ToolError(
                    f"the text holds {marker}, which stands for a secret that you were not shown;"
                    " writing it would put the marker in the secret's place. Nothing was changed."
                    " Use fs-edit with an old text that begins after the secret or ends before it,"
                    " so that it stays as it is."
                )
