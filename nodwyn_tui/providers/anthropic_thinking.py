"""What an Anthropic model is asked about its thinking, by the setting `effort` alone (PRV-1). It is
the same in every request of a session: another ask would miss the cache (PRV-5).
"""

from collections.abc import Mapping

from nodwyn_tui.domain.request import Json

OFF: Mapping[str, str] = {"off": "disabled", "between_tools": "between_tools"}
"""The values of `effort` that switch thinking off, and what the protocol calls it."""

LEAST_BUDGET = 1024
"""Tokens: the least budget that the protocol takes, and what a reply keeps beside one."""


def has_budget(effort: str | None) -> bool:
    """Whether `effort` is a number of tokens: older models take no other ask than that."""
    return effort is not None and effort.isascii() and effort.isdecimal()


def effective(effort: str | None, max_output: int) -> str | None:
    """`effort` as a reply of so many tokens has room for it: a budget is part of them, and where
    they are too few for any, thinking is off.
    """
    if effort is None or not has_budget(effort):
        return effort
    tokens = min(int(effort), max_output - LEAST_BUDGET)
    return str(tokens) if tokens >= LEAST_BUDGET else "off"


def asked(effort: str | None, *, keeps: bool) -> dict[str, Json]:
    """The fields of the body; `effort` is an effective one. With `keeps` blocks go back."""
    if effort is not None and effort in OFF:
        return {"thinking": {"type": OFF[effort]}}
    kind: dict[str, Json] = {"type": "adaptive"}
    if effort and has_budget(effort):
        kind = {"type": "enabled", "budget_tokens": int(effort)}
    thinking: dict[str, Json] = {**kind, "display": "summarized"}
    if keeps:
        # A block that the window's own rule missed is dropped then, and fails no request.
        thinking["block_binding"] = {"prefix_mismatch_behavior": "drop_block"}
    wants = effort is not None and not has_budget(effort)
    return {"thinking": thinking, **({"output_config": {"effort": effort}} if wants else {})}
