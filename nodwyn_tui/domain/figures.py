"""Figures for the eye, the same in the worker's words and on the screen."""


def tokens(count: int) -> str:
    """Tokens: `812`, `31.2k`, `66k`, `1.05M`."""
    if count < 1000:
        return str(count)
    if count < 99_950:
        return f"{count / 1000:.1f}k".replace(".0k", "k")
    if count < 999_500:
        return f"{count / 1000:.0f}k"
    return f"{count / 1_000_000:.2f}M"
