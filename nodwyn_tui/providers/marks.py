"""Where a request bears explicit cache breakpoints (ORD-6), counted in content blocks. Pure.

The places follow from the request alone, so that a replay finds them again; they stand outside the
digest.
"""

from collections.abc import Mapping, Sequence

LOOK_BACK = 20
"""How many blocks before a mark a server looks for what it holds."""

CACHE_CONTROL: Mapping[str, Mapping[str, str]] = {
    "ephemeral": {"type": "ephemeral"},
    "1h": {"type": "ephemeral", "ttl": "1h"},
}
"""What a marked block bears, by the model's `cache_control`."""


def marked_blocks(bears: Sequence[bool], former: int, end: int) -> list[int]:
    """The blocks that bear a mark: the last one before `former` and the last one before `end`, and
    one half-way where more blocks came between than a server looks back on.

    `bears` says of each block whether it may bear one, `former` counts the blocks that the former
    request ended with, `end` those that the next one will begin with.
    """
    ends = [former, end]
    if end - former > LOOK_BACK:
        ends.append(former + (end - former) // 2)
    found = (_last_bearer(bears, count) for count in ends)
    return sorted({place for place in found if place is not None})


def _last_bearer(bears: Sequence[bool], count: int) -> int | None:
    return next((at for at in range(count - 1, -1, -1) if bears[at]), None)
