"""The part of OpenAPI 3.0 schemas that the API's description uses, checked strictly: an unknown keyword is a mistake."""

import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "minimum", "maximum", "maxLength", "maxItems", "pattern", "nullable",
         "description", "format", "$ref"}


def problems(value, schema, document, place="$"):
    """What is wrong with a value, one line each."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/components/schemas/")
        return problems(value, document["components"]["schemas"][name], document, place)
    assert set(schema) <= KNOWN, set(schema) - KNOWN
    if value is None:
        return [] if schema.get("nullable") else [f"{place} is null"]
    kind = TYPES[schema["type"]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        return [f"{place} is {value!r}, no {schema['type']}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{place} is {value!r}, none of {schema['enum']}")
    if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
        found.append(f"{place} is {value}, out of range")
    if "maxLength" in schema and len(value) > schema["maxLength"] or "maxItems" in schema and len(value) > schema["maxItems"]:
        found.append(f"{place} is too long")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{place} is {value!r}, not {schema['pattern']}")
    if isinstance(value, dict):
        found += _object(value, schema, document, place)
    for index, item in enumerate(value if isinstance(value, list) else []):
        found += problems(item, schema["items"], document, f"{place}[{index}]")
    return found


def _object(value, schema, document, place):
    known = schema.get("properties", {})
    found = [f"{place}.{name} is missing" for name in schema.get("required", []) if name not in value]
    for name, part in value.items():
        if name in known:
            found += problems(part, known[name], document, f"{place}.{name}")
        elif not schema.get("additionalProperties", True):
            found.append(f"{place}.{name} is not described")
    return found
