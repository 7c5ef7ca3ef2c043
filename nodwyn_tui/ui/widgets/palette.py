"""What each role of a `Span` looks like under the theme in use."""

from collections.abc import Mapping
from functools import lru_cache

from rich.style import Style
from textual.color import Color

_SYNTAX = {
    "kw": "accent",
    "str": "success",
    "num": "warning",
    "fn": "primary",
    "cls": "secondary",
}
_METER = {
    "m-system": "dim",
    "m-summary": "secondary",
    "m-history": "primary",
    "m-images": "accent",
    "m-fresh": "warning",
    "m-new": "success",
}


_NAMES = ("primary", "secondary", "accent", "warning", "error", "success")
_GROUNDS = ("foreground", "background", "surface", "panel")


def palette_of(variables: Mapping[str, str], *, plain: bool) -> "Palette":
    """The palette of a theme's colours by name, as Textual resolves them; one for all who paint.

    `plain` says that no colour will be shown, so that what only colour would tell is reversed.
    """
    return _palette(tuple(variables[name] for name in (*_NAMES, *_GROUNDS)), plain=plain)


@lru_cache(maxsize=4)
def _palette(colours: tuple[str, ...], *, plain: bool) -> "Palette":
    return Palette(dict(zip((*_NAMES, *_GROUNDS), colours, strict=True)), plain=plain)


class Palette:
    """Roles to styles."""

    def __init__(self, variables: Mapping[str, str], *, plain: bool) -> None:
        self.foreground = Color.parse(variables["foreground"])
        self.background = Color.parse(variables["background"])
        colours = {name: Color.parse(variables[name]) for name in _NAMES}
        colours["dim"] = self._towards_background(0.40)
        colours["faint"] = self._towards_background(0.62)
        surface, panel = (Color.parse(variables[name]) for name in ("surface", "panel"))
        self.base = _style(self.foreground, self.background)
        self._whole: dict[str, Style] = {}
        self._parts: dict[str, Style] = {
            **{name: _style(colour) for name, colour in colours.items()},
            **{role: _style(colours[name]) for role, name in (_SYNTAX | _METER).items()},
            "strong": Style(bold=True),
            "em": Style(italic=True),
            "strike": Style(strike=True),
            "com": _style(colours["dim"]) + Style(italic=True),
            "code": _style(colours["accent"]),
            "block": Style.from_color(bgcolor=surface.rich_color),
            "bar": Style.from_color(bgcolor=surface.rich_color),
            "link": _style(colours["primary"]) + Style(underline=True),
            "heading": _style(colours["primary"]) + Style(bold=True),
            "top": Style(underline=True),
            "add": self._tinted(colours["success"]),
            "remove": self._tinted(colours["error"]),
            "key": _style(colours["accent"]) + Style(bold=True),
            "user": _style(colours["primary"]) + Style(bold=True),
            "chosen": Style.from_color(bgcolor=panel.rich_color),
            "selected": Style.from_color(
                bgcolor=self.background.blend(colours["primary"], 0.35).rich_color
            ),
            "alert": _style(self.background, colours["warning"]) + Style(bold=True),
            "alarm": _style(self.background, colours["error"]) + Style(bold=True),
            "reverse": Style(reverse=True),
        }
        if plain:
            for role in ("selected", "alert", "alarm"):
                self._parts[role] += Style(reverse=True)
            for role in ("dim", "faint"):
                self._parts[role] += Style(dim=True)

    def style(self, role: str) -> Style:
        """The style of a role, or of several apart by blanks, the later on top."""
        found = self._whole.get(role)
        if found is None:
            found = self.base
            for name in role.split():
                found += self._parts[name]
            self._whole[role] = found
        return found

    def _towards_background(self, share: float) -> Color:
        return self.foreground.blend(self.background, share)

    def _tinted(self, colour: Color) -> Style:
        return _style(colour, self.background.blend(colour, 0.10))


def _style(colour: Color, background: Color | None = None) -> Style:
    return Style.from_color(colour.rich_color, background.rich_color if background else None)
