"""The JSON schema of what each command prints with `--json`, with a version: `featlab schema [COMMAND]`.

A shape is written shortly and becomes a JSON Schema (draft 2020-12). "text", "integer", "number", "flag" are types,
with "?" also null; "nested" is a number, a text or null, or lists of these to any depth; [shape] is a list; {key:
shape} is an object with just these keys, where one that ends in "?" may be missing and "*" stands for all others.

A version is raised when a script that reads the old output could fail on the new one: a key is gone, or has another
type or meaning. A new key does not raise it.
"""

from __future__ import annotations

from typing import Any

from featlab.errors import InvalidParameter

Shape = str | list[Any] | dict[str, Any]
_TYPES = {"text": "string", "integer": "integer", "number": "number", "flag": "boolean"}
_VECTORS: Shape = [["number"]]
_STAGE: dict[str, Shape] = {
    "exponent": "integer?",
    "directions": _VECTORS,
    "signal": "number?",
    "signal_error": "number?",
}
_PAPER: Shape = {"authors": "text", "year": "integer", "title": "text", "arxiv": "text?"}
_CONSTANT: Shape = {
    "value": "number",
    "low": "number?",
    "high": "number?",
    "at_least": "flag",
    "source": "text",
}
_COST: Shape = {
    "algorithm": "text",
    "samples": "text",
    "exponent": "number?",
    "power_of_log_d": "integer",
    "more_than": "flag",
    "log10_samples": "number?",
    "constant?": _CONSTANT,
    "status": "text",
    "meaning": "text",
    "papers": [_PAPER],
}
_COMPARED: Shape = {
    "verdict": "text",
    "axes": ["text"],
    "allowance": "nested",
    "absolute_values": "flag",
    "theory": "nested",
    "simulation": "nested",
    "standard_error": "nested",
    "limit": "nested",
    "limit_error": "nested",
    "exponent": "nested",
    "z": "nested",
    "points": "nested",
}
_COMPARISON: dict[str, Shape] = {
    "verdict": "text",
    "reason": "text",
    "allowance": "text",
    "points": "integer",
    "largest_z": "number?",
    "allowed_z": "number?",
    "resolution": "number?",
    "sizes": ["integer"],
    "allowance_share": "number?",
    "quantities": {"*": _COMPARED},
}
_DEMONSTRATION: Shape = {
    "algorithm": "text?",
    **{f"{key}?": shape for key, shape in _COMPARISON.items()},
    "learner?": "text",
    "student?": "text?",
    "dim?": "integer",
    "samples?": "integer?",
    "seeds?": "integer",
    "time?": ["number"],
    "story?": "text",
    "staircase?": [_VECTORS],
    "command?": "text",
}
_EXPLANATION: dict[str, Shape] = {
    "target": "text",
    "rank": "integer",
    "noise": "number",
    "information_exponent": "integer?",
    "leap": "integer?",
    "generative_exponent": "integer?",
    "verdict": "text",
    "alpha_c": "number?",
    "giant_steps": [_VECTORS],
    "staircase": [_STAGE],
    "grand_staircase": [
        {"kind": "text", "alpha": "number?", "alpha_error": "number?", "alpha_bound": "number?", **_STAGE}
    ],
    "sample_cost": {"*": "text"},
    "verdict_sentence": "text",
    "alpha_c_error": "number?",
    "coordinate_leap": "integer?",
    "one_giant_step_directions": _VECTORS,
    "mean": "number",
    "variance": "number",
    "hermite_energies": ["number"],
    "residuals": [
        {
            "samples_power": "number",
            "width_power": "number",
            "known_directions": "integer",
            "residual_variance": "number",
            "status": "text",
        }
    ],
    "labels?": "nested",
    "inputs": "text",
    "degree": "integer?",
    "latex": "text?",
    "hidden_noise_variables": "integer",
    "shown": "text?",
    "typed_variables": ["text"],
    "typed_directions": _VECTORS,
    "remarks": ["text"],
    "doubts": ["text"],
    "dim": "integer?",
    "sample_cost_details": {"*": _COST},
    "exhibits": {"*": ["text"]},
    "demonstration?": _DEMONSTRATION,
}
# Attributes and axes differ between learners; what every dataset has is named.
_DATASET: dict[str, Shape] = {
    "target": "text",
    "learner": "text",
    "dim": "integer",
    "featlab": "text",
    "data": {"*": {"axes": ["text"], "meaning": "text?", "values": "nested"}},
    "*": "nested",
}
_CROSSING: Shape = {"ratio": "number?", "low": "number?", "high": "number?"}
# Those without directions have a share of the risk alone; who was not run or predicted has no ratios either.
_CURVE: Shape = {
    "ratios?": ["number"],
    "found?": "nested",
    "risk_share?": "nested",
    "first_direction?": _CROSSING,
    "all?": _CROSSING,
}
_RACE: dict[str, Shape] = {
    "target": "text",
    "noise": "number",
    "dim": "integer",
    "ratios": ["number"],
    "seeds": "integer",
    "key": "integer",
    "interrupted": "flag",
    "store": "text",
    "entrants": [
        {
            "name": "text",
            "label": "text",
            "settings": "text",
            "seconds": "number",
            "simulation?": _CURVE,
            "simulation_remark": "text",
            "theory?": _CURVE,
            "theory_remark": "text",
        }
    ],
}
_LEARNER: dict[str, Shape] = {
    "name": "text",
    "does": "text",
    "words": "text",
    "samples_and_times": "text",
    "papers": [{"citation": "text", "title": "text", "link": "text?"}],
    "options": {"*": [{"option": "text", "default": "text?", "meaning": "text"}]},
    "example": "text?",
}
_ORDER: Shape = {
    "degrees": ["integer"],
    "function": "integer",
    "value": "number",
    "half_width": "number?",
    "visible": "flag",
}
_EXPONENT: Shape = {"value": "integer?", "searched": "integer", "hidden": "number?"}
_DIAGNOSIS: dict[str, Shape] = {
    "label": "text",
    "classes?": ["text"],
    "warnings": ["text"],
    "advice": "text",
    "inputs": {
        "given_rows": "integer",
        "given_columns": "integer",
        "missing": "integer",
        "samples": "integer",
        "dim": "integer",
        "ratio": "number",
        "frame": "text",
        "norm_spread": "number",
        "gaussian": "flag",
        "columns": [{"name": "text", "discrete": "flag", "*": "nested"}],
        "spectrum": {"eigenvalues": ["number"], "spikes": "integer", "edge": "number", "distance": "number"},
    },
    "directions": {
        "count": "integer",
        "permutations": "integer",
        "tested_rows": "integer",
        "searched_rows": "integer",
        "next_p_value": "number?",
        "found": [
            {
                "order": "integer",
                "p_value": "number",
                "angle": {"median": "number", "low": "number", "high": "number"},
                "loadings": {"*": "number"},
            }
        ],
    },
    "orders?": {
        "rows": "integer",
        "information_exponent": _EXPONENT,
        "generative_exponent": _EXPONENT,
        "of_label": [_ORDER],
        "of_functions": [_ORDER],
        "links": [{"grid": ["number"], "mean": ["number"], "half_width?": ["number"]}],
        "fitted_link": "text?",
        "noise": "number?",
    },
    "analysis": {"*": "nested"},
    "curves": [
        {
            "kind": "text",
            "estimator": "text",
            "sizes": ["integer"],
            "errors": "nested",
            "tested": "integer",
            "tails_shown": "flag",
            "theory": "nested",
            "no_theory": "text?",
        }
    ],
}
_PROGRESS: dict[str, Shape] = {
    "total": "integer",
    "done": "integer",
    "failed": "integer",
    "missing": "integer",
    "complete": "flag",
}
_CHECK: Shape = {
    "statement": "text",
    "result": "text",
    "detail": "text",
    "control": "text",
    "refused": "flag?",
    "correction": "text?",
    "needs": "text?",
}
_REPORT: Shape = {
    "format": "integer",
    "verdict": "text",
    "exhibit": "text",
    "size": "text",
    "checks": [_CHECK],
    "numbers": [
        {"name": "text", "predicted": "number?", "measured": "number?", "error": "number?", "earlier": "number?"}
    ],
    "remarks": ["text"],
    "seconds": "number",
    "runs": "integer",
    "machines": [{"*": "any"}],
    "made": "text",
    "looks": ["integer"],
    "fixed": [{"*": "any"}],
    "pictures": {"*": "text"},
}
_LISTED: Shape = {
    "id": "text",
    "title": "text",
    "claim": "text",
    "document": "text",
    "papers": ["text"],
    "verdict": "text?",
    "size": "text?",
    "made": "text?",
}
# By command: the version, and what is printed besides `schema`, the name and version of the schema itself.
SCHEMAS: dict[str, tuple[int, dict[str, Shape]]] = {
    "explain": (1, _EXPLANATION),
    "simulate": (1, _DATASET),
    "predict": (1, _DATASET),
    "compare": (
        1,
        {
            **_COMPARISON,
            "measured": "text",
            "prediction": _DATASET,
            "simulation": _DATASET,
            "other_sizes": [{"prediction": _DATASET, "simulation": _DATASET}],
        },
    ),
    "race": (1, _RACE),
    "learners": (1, {"learners": {"*": "text"}}),
    "learners NAME": (1, _LEARNER),
    "diagnose": (1, _DIAGNOSIS),
    "study plan": (
        1,
        {
            **_PROGRESS,
            "points": "integer",
            "repeats": "integer",
            "shapes": "integer",
            "probe?": {"point": {"*": "any"}, "error": "text?", "*": "number?"},
            "seconds": "number?",
        },
    ),
    "study run": (1, {**_PROGRESS, "store": "text"}),
    "study status": (1, {**_PROGRESS, "uncollected": "integer", "jobs": {"*": "integer"}}),
    "study submit": (1, {"job": "text?", "tasks": "integer", "runs": "integer"}),
    "study collect": (1, {**_PROGRESS, "store": "text"}),
    "study check": (
        1,
        {
            "sound": "integer",
            "unchecked": "integer",
            "damaged": ["text"],
            "complaints": ["text"],
            "aside": "text?",
            "good": "flag",
            "store": "text",
        },
    ),
    "exhibit list": (1, {"exhibits": [_LISTED]}),
    "exhibit run": (1, {"reports": [_REPORT], "failures": ["text"], "waiting": ["text"]}),
    "doctor": (
        1,
        {
            "featlab": "text",
            "python": "text",
            "system": "text",
            "packages": {"*": "text?"},
            "devices": ["text"],
            "cores": "integer",
            "memory": {"size": "integer", "available": "integer"},
            "cache": {"folder": "text?", "writable": "flag", "bytes": "integer"},
            "missing": [{"for": "text", "packages": ["text"], "install": "text"}],
        },
    ),
}


def slug(command: str) -> str:
    """A command as one word: of its schema's file and name."""
    return command.replace(" ", "-")


def schema_name(command: str) -> str:
    """The name and version of a command's schema, which is the first thing that its `--json` prints."""
    return f"featlab.{slug(command)}/{SCHEMAS[command][0]}"


def schema_of(command: str) -> dict[str, Any]:
    """The JSON Schema of a command's `--json`.

    Raises:
        InvalidParameter: for a command that prints no JSON.
    """
    if command not in SCHEMAS:
        raise InvalidParameter("command", command, f"one of {', '.join(SCHEMAS)}")
    version, shape = SCHEMAS[command]
    whole = _object(shape)
    whole["properties"] = {"schema": {"const": schema_name(command)}, **whole["properties"]}
    whole["required"] = ["schema", *whole["required"]]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:featlab:{slug(command)}:{version}",
        "title": f"featlab {command} --json",
        "version": version,
        **whole,
        "$defs": {"nested": {"anyOf": [{"type": ["number", "string", "boolean", "null"]}, _list_of_nested()]}},
    }


def _list_of_nested() -> dict[str, Any]:
    return {"type": "array", "items": {"$ref": "#/$defs/nested"}}


def _schema(shape: Shape) -> dict[str, Any]:
    if isinstance(shape, list):
        return {"type": "array", "items": _schema(shape[0])}
    if isinstance(shape, dict):
        return _object(shape)
    if shape == "any":
        return {}
    if shape == "nested":
        return {"$ref": "#/$defs/nested"}
    name = _TYPES[shape.removesuffix("?")]
    return {"type": [name, "null"] if shape.endswith("?") else name}


def _object(shape: dict[str, Any]) -> dict[str, Any]:
    """A key that may be missing may be null as well: that is how absent parts are written."""
    named = {key: one for key, one in shape.items() if key != "*"}
    return {
        "type": "object",
        "properties": {key.removesuffix("?"): _part(key, one) for key, one in named.items()},
        "required": [key for key in named if not key.endswith("?")],
        "additionalProperties": _schema(shape["*"]) if "*" in shape else False,
    }


def _part(key: str, shape: Shape) -> dict[str, Any]:
    made = _schema(shape)
    return {"anyOf": [made, {"type": "null"}]} if key.endswith("?") else made
