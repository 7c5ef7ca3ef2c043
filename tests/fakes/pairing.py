"""What every protocol with calls and results demands of a conversation's order."""

from collections.abc import Mapping, Sequence
from typing import Any

Message = Mapping[str, Any]


def order_problems(messages: Sequence[Message]) -> list[str]:
    """Roles in their places: system first or not at all, then a user, at least one message."""
    roles = [message.get("role") for message in messages]
    found = [
        f"messages.{i}: unknown role {role!r}" for i, role in enumerate(roles) if role not in ROLES
    ]
    if "system" in roles[1:]:
        found.append("a system message stands inside the conversation")
    rest = roles[1:] if roles[:1] == ["system"] else roles
    if not rest:
        found.append("the conversation is empty")
    elif rest[0] != "user":
        found.append(f"the conversation begins with {rest[0]!r}, not with the user")
    elif rest[-1] == "assistant":
        found.append("the conversation ends with a reply")
    return found


ROLES = frozenset({"system", "user", "assistant", "tool"})


def pairing_problems(messages: Sequence[Message]) -> list[str]:
    """Every call answered once, right after its message and in its order; no id used twice."""
    found: list[str] = []
    seen: set[str] = set()
    open_ids: list[str] = []
    for i, message in enumerate(messages):
        if message.get("role") == "tool":
            found += _result_problems(i, message.get("tool_call_id"), open_ids)
            continue
        if open_ids:
            found.append(f"messages.{i}: calls without a result before it: {', '.join(open_ids)}")
        open_ids = [str(call.get("id")) for call in message.get("tool_calls") or []]
        twice = [id_ for id_ in open_ids if id_ in seen or open_ids.count(id_) > 1]
        if twice:
            found.append(f"messages.{i}: call ids used twice: {', '.join(twice)}")
        seen |= set(open_ids)
    if open_ids:
        found.append(f"calls without a result at the end: {', '.join(open_ids)}")
    return found


def _result_problems(i: int, id_: Any, open_ids: list[str]) -> list[str]:
    if id_ not in open_ids:
        words = (
            "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
        )
        return [f"messages.{i}: {words} ({id_!r})"]
    late = open_ids.index(id_) > 0
    open_ids.remove(id_)
    return [f"messages.{i}: the result of {id_!r} is out of its call's order"] if late else []
