"""How many tokens an image counts (IMG-7). Pure arithmetic, in pixels."""

import math

OLLAMA = 768
"""An image at Ollama, whatever its size: its server reckons so itself."""

_FIT, _SHORT, _TILE = 2_048, 768, 512
_BASE, _PER_TILE = 85, 170
_PATCH, _MOST_PATCHES, _PATCH_PRICE = 32, 2_500, 1.2
_BLOCK, _EDGE, _MOST_BLOCKS = 28, 2_576, 4_784


def recorded(width: int, height: int) -> int:
    """What the window reckons with, for every model: chat completions' own rule. An image is scaled
    to fit 2,048 pixels, then its shorter side to 768; 85 tokens, and 170 a tile of 512 pixels.
    """
    scale = min(1.0, _FIT / max(width, height))
    wide, high = width * scale, height * scale
    scale = min(1.0, _SHORT / min(wide, high))
    tiles = math.ceil(round(wide * scale, 6) / _TILE) * math.ceil(round(high * scale, 6) / _TILE)
    return _BASE + _PER_TILE * tiles


def charged(provider: str, width: int, height: int) -> int:
    """What a model behind a protocol is likely to charge, at most: each has a rule of its own."""
    match provider:
        case "ollama":
            return OLLAMA
        case "responses":
            return _patches(width, height)
        case "anthropic":
            return _blocks(width, height)
        case _:
            return recorded(width, height)


def _patches(width: int, height: int) -> int:
    """Patches of 32 pixels, at most 2,500, at 1.2 tokens each."""
    wide, high = max(float(width), 1.0), max(float(height), 1.0)
    count = math.ceil(wide / _PATCH) * math.ceil(high / _PATCH)
    if count > _MOST_PATCHES:
        by = math.sqrt(_PATCH**2 * _MOST_PATCHES / (wide * high))
        across, down = wide * by / _PATCH, high * by / _PATCH
        by *= min(math.floor(across) / across, math.floor(down) / down)
        count = math.ceil(round(wide * by / _PATCH, 6)) * math.ceil(round(high * by / _PATCH, 6))
    return math.ceil(count * _PATCH_PRICE)


def _blocks(width: int, height: int) -> int:
    """Blocks of 28 pixels of an image that fits 2,576, at most 4,784."""
    scale = min(1.0, _EDGE / max(width, height))
    count = math.ceil(width * scale / _BLOCK) * math.ceil(height * scale / _BLOCK)
    return min(max(count, 1), _MOST_BLOCKS)
