"""What images count in tokens (IMG-7)."""

import pytest

from nodwyn_tui.providers.image_tokens import charged, recorded


@pytest.mark.parametrize(
    ("size", "tokens"),
    [
        ((1024, 1024), 765),
        ((1920, 1080), 1105),
        ((1280, 720), 1105),
        ((512, 512), 255),
        ((1, 1), 255),
        ((2000, 5), 765),
        ((5, 2000), 765),
        ((4096, 8192), 1105),
    ],
)
def test_what_the_window_reckons_with(size: tuple[int, int], tokens: int) -> None:
    """IMG-7: fit 2,048, shortest side 768, 85 tokens and 170 a tile."""
    assert recorded(*size) == tokens


@pytest.mark.parametrize(
    ("provider", "size", "tokens"),
    [
        ("responses", (1024, 1024), 1229),
        ("responses", (2560, 1440), 2931),
        ("anthropic", (1920, 1080), 2691),
        ("anthropic", (2000, 2000), 4784),
        ("anthropic", (1, 1), 1),
        ("ollama", (1920, 1080), 768),
        ("openai", (1920, 1080), 1105),
    ],
)
def test_what_a_provider_charges(provider: str, size: tuple[int, int], tokens: int) -> None:
    assert charged(provider, *size) == tokens


@pytest.mark.parametrize("provider", ["responses", "anthropic", "ollama", "openai", "mistral"])
def test_any_size_has_a_price(provider: str) -> None:
    """Down to a pixel, up to what no store holds."""
    for width in (1, 7, 31, 32, 33, 767, 2000, 12_000):
        for height in (1, 29, 2000, 9_999):
            assert 0 < charged(provider, width, height) < 20_000
