"""The page of the API: what OpenAPI says of it, as one document without any script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from featlab.reports.templating import fill


def reference(api: Mapping[str, Any]) -> str:
    """The whole page."""
    schemas = {
        name: json.dumps(schema, indent=2)
        for name, schema in sorted(api.get("components", {}).get("schemas", {}).items())
    }
    return fill(
        "explorer_reference.html",
        title=api["info"]["title"],
        about=api["info"],
        calls=list(_calls(api)),
        schemas=schemas,
    )


def _calls(api: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for path, methods in api["paths"].items():
        for method, call in methods.items():
            body = call.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            answer = call["responses"].get("200", {}).get("content", {})
            yield {
                "method": method.upper(),
                "path": path,
                "words": call.get("description", ""),
                "body": _name(body),
                "parameters": [one["name"] for one in call.get("parameters", [])],
                "answers": [(kind, _name(one.get("schema", {}))) for kind, one in answer.items()],
            }


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
