"""How many images a request may have (C36, C37)."""

import pytest

from nodwyn_tui.providers.image_limits import too_many


@pytest.mark.parametrize(
    ("provider", "sizes", "out"),
    [
        ("anthropic", [], 0),
        ("anthropic", [3_700_000], 0),
        ("anthropic", [2_000_000] * 10, 0),
        ("anthropic", [2_500_000] * 10, 2),
        ("anthropic", [3_700_000] * 10, 5),
        ("anthropic", [1_000] * 130, 30),
        ("ollama", [3_700_000] * 20, 0),
        ("openai", [3_700_000] * 20, 11),
        ("responses", [1_000] * 260, 10),
    ],
)
def test_the_oldest_are_left_out(provider: str, sizes: list[int], out: int) -> None:
    """C36: by the whole request's size in base64, and by their number."""
    assert too_many(provider, sizes) == out
