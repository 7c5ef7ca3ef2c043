"""What a call's arguments may be, and the schema that the model sees, taken from the same pydantic
model.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict

from nodwyn_tui.domain.request import Json, ToolSpec

_DROPPED = frozenset(
    {
        *("$defs", "title", "default", "additionalProperties"),
        *("minLength", "maxLength", "maxItems", "pattern"),
    }
)
"""What only pydantic needs. A bound on a length would make the grammars huge that local servers
build from a schema; a call that goes over it is told so.
"""


class Model(BaseModel):
    """A tool's arguments: an unknown key is an error, since it may hold what the call meant."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def spec_of(name: str, description: str, arguments: type[BaseModel]) -> ToolSpec:
    """The tool as the model sees it, its schema without what only tells pydantic."""
    schema = _trimmed(arguments.model_json_schema(), {})
    return ToolSpec(name, description, schema)


def _trimmed(schema: Json, definitions: dict[str, Json]) -> Any:
    """The schema with references filled in, optional values as their plain type, no titles, and
    without the docstrings that pydantic takes over.
    """
    if isinstance(schema, list):
        return [_trimmed(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    definitions = schema.get("$defs", definitions)
    if "$ref" in schema:
        return _trimmed(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    choices = [item for item in schema.get("anyOf", ()) if item.get("type") != "null"]
    if len(choices) == 1:
        rest = {key: value for key, value in schema.items() if key != "anyOf"}
        return _trimmed({**choices[0], **rest}, definitions)
    out: dict[str, Json] = {}
    for key, value in schema.items():
        if key == "properties":
            out[key] = {name: _trimmed(item, definitions) for name, item in value.items()}
        elif key == "const":  # some servers know lists of values only
            out["enum"] = [value]
        elif key not in _DROPPED and not (key == "description" and "properties" in schema):
            out[key] = _trimmed(value, definitions)
    return out
