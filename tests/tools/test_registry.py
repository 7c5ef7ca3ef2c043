"""The catalogue, and the reading of a call's arguments (AGT-6, PERF-6, C32)."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from nodwyn_tui.domain.canonical import canonical, tool_value
from nodwyn_tui.errors import ToolError
from nodwyn_tui.tools.base import Tool
from nodwyn_tui.tools.registry import default_tools, parse_arguments

NAMES = [
    *("fs-read", "fs-list", "fs-glob", "fs-search", "fs-write", "fs-edit", "shell", "plan-write"),
    *("memory", "session_history"),
]
TOOLS = {tool.spec.name: tool for tool in default_tools({})}


def parsed(name: str, text: str) -> dict[str, Any]:
    model: BaseModel = parse_arguments(TOOLS[name], text)
    return model.model_dump(exclude_defaults=True)


def test_names_and_order_are_fixed() -> None:
    assert [tool.spec.name for tool in default_tools({})] == NAMES
    assert list(TOOLS) == NAMES


def test_the_catalogue_is_the_same_each_time() -> None:
    """Another byte would cost every session's prefix."""
    first, second = ([tool_value(tool.spec) for tool in default_tools({})] for _ in range(2))
    assert canonical(first) == canonical(second)


def test_perf6_the_catalogue_is_small() -> None:
    """PERF-6: about 850 tokens for ten tools, of 4,000 for all the prefix."""
    assert len(canonical([tool_value(tool.spec) for tool in default_tools({})])) < 3400


@pytest.mark.parametrize("tool", default_tools({}), ids=NAMES)
def test_a_schema_is_plain_and_agrees_with_its_model(tool: Tool[Any]) -> None:
    schema = json.dumps(tool.spec.parameters)
    assert tool.spec.parameters["type"] == "object"
    assert list(tool.spec.parameters["properties"]) == list(tool.arguments.model_fields)
    for word in ("$ref", "$defs", "anyOf", "title", "maxLength", 'pattern": "', "const", "null"):
        assert word not in schema
    assert tool.spec.description.endswith(".")


def test_effects() -> None:
    """AGT-2: what may run side by side, and what is a barrier."""
    assert {name for name, tool in TOOLS.items() if tool.effect == "read"} == {
        *("fs-read", "fs-list", "fs-glob", "fs-search", "session_history"),
    }
    changing = ("fs-write", "fs-edit", "shell", "plan-write", "memory")
    assert [TOOLS[name].effect for name in changing] == [
        *("write", "write", "shell", "state", "write"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("fs-read", '{"path": "a"}', {"path": "a"}),
        ("fs-read", '{"path": "a", "start": "3", "end": null}', {"path": "a", "start": 3}),
        ("fs-read", ' {"path": "a", "start": 3.0}\n', {"path": "a", "start": 3}),
        ("fs-list", "", {}),
        ("fs-list", "  ", {}),
        ("fs-edit", '{"path":"a","old":"x","new":"","all":"true"}',
         {"path": "a", "old": "x", "new": "", "all": True}),
        ("shell", '{"command": "a\nb\tc"}', {"command": "a\nb\tc"}),
        ("plan-write", '{"items": [{"text": "a", "state": "done"}]}',
         {"items": ({"text": "a", "state": "done"},)}),
        ("fs-list", '{"path": "\\ud83d\\ude00"}', {"path": "\U0001f600"}),
    ],
)  # fmt: skip
def test_arguments_that_pass(name: str, text: str, expected: dict[str, Any]) -> None:
    assert parsed(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("fs-read", "{}", "fs-read: path is missing"),
        ("fs-read", "", "path is missing"),
        ("fs-read", '{"file": "a"}', "file is not known"),
        ("fs-read", '{"path": 3}', "path: input should be a valid string (you gave 3)"),
        ("fs-read", '{"path": "a", "start": 0}', "start: "),
        ("fs-read", '{"path": "a", "start": "x"}', "start: input should be a valid integer"),
        ("fs-read", '"{}"', "one JSON object, not a text"),
        ("fs-read", "[1]", "one JSON object, not a list"),
        ("fs-read", "3", "not a number"),
        ("fs-read", "true", "not true or false"),
        ("fs-read", '{"path": "a", "path": "b"}', "a key is given twice"),
        ("fs-read", '{"path": NaN}', "NaN is no JSON number"),
        ("fs-read", '{"path": "a"} x', "no valid JSON"),
        ("fs-read", "path=a", "no valid JSON"),
        ("fs-read", "[" * 100_000, ""),
        ("fs-read", '{"path": ' + "9" * 5000 + "}", "can't be read"),
        ("shell", '{"command": ""}', "command: "),
        ("shell", '{"command": "a", "timeout_s": 601}', "timeout_s: "),
        ("shell", '{"command": "a", "background": true}', "background is not known"),
        ("plan-write", '{"items": [{"text": "a"}, {"state": "gone"}]}', "items[1].text is missing"),
        ("session_history", '{"action": "find", "item": "i:1"}', "action: "),
        ("session_history", '{"action": "read_item", "item": "1"}', "item: "),
        ("fs-write", json.dumps({"path": ["x" * 500], "text": ""}), "…)"),
    ],
)
def test_arguments_that_do_not_pass(name: str, text: str, told: str) -> None:
    """The error says what is wrong and what is known; nothing is made up."""
    with pytest.raises(ToolError) as caught:
        parsed(name, text)
    message = str(caught.value)
    assert told in message
    assert message.startswith(f"{name}: ")
    assert len(message) < 700
    assert "\n" not in message


WHOLE = (
    '{"path": "big.md", "text": "# Report\\n\\n## 1 Intro \\u00e9\\nand on", "all": true, "n": -1}'
)


@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_c32_arguments_cut_off_anywhere_are_never_run(length: int) -> None:
    """C32: whatever the place of the cut; never repaired, and the model is told to write less."""
    with pytest.raises(ToolError, match=r"end in the middle.*Nothing was run") as caught:
        parsed("fs-write", WHOLE[:length])
    assert "write a long file in parts" in str(caught.value)


def test_c32_a_list_cut_between_its_items_is_never_run() -> None:
    """C32: the list looks whole up to its last item."""
    with pytest.raises(ToolError, match="end in the middle"):
        parsed("plan-write", '{"items": [{"text": "make"}, {"text": "make test"}')
