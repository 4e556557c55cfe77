"""Read and write cost models as TOML and YAML. `thrifty.costs.files` describes the format."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml

from thrifty.costs.errors import format_value, prefix_errors
from thrifty.costs.model import CostModel
from thrifty.exceptions import CostError


def parse_toml(text: str) -> dict[str, Any]:
    """Return the arguments of the CostModel that a TOML text describes."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CostError(f"{error}{_line_of(error, text)}. Correct the TOML.") from None
    return arguments_of(document)


def parse_yaml(text: str) -> dict[str, Any]:
    """Return the arguments of the CostModel that a YAML text describes."""
    try:
        _refuse_ambiguous_keys(yaml.compose(text, Loader=yaml.SafeLoader))
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CostError(f"{' '.join(str(error).split())}. Correct the YAML.") from None
    return arguments_of(document)


def render_toml(model: CostModel) -> str:
    """Return a named cost model as TOML."""
    document = document_of(model)
    lines = _toml_lines({"unit": document["unit"]}) if "unit" in document else []
    lines += ["", "[features]", *_toml_lines(document["features"])]
    for name, bundle in document.get("bundles", {}).items():
        lines += ["", f"[bundles.{_toml_key(name)}]", *_toml_lines(bundle)]
    if "requires" in document:
        lines += ["", "[requires]", *_toml_lines(document["requires"])]
    return "\n".join(lines).lstrip() + "\n"


def render_yaml(model: CostModel) -> str:
    """Return a named cost model as YAML."""
    document = document_of(model)
    text = yaml.safe_dump(document, sort_keys=False, allow_unicode=True)
    if set("\x85\u2028\u2029").isdisjoint(text):
        return text
    return yaml.safe_dump(document, sort_keys=False)  # PyYAML loses these line breaks if it does not escape them


def arguments_of(document: Any) -> dict[str, Any]:
    """Return the arguments of the CostModel that a parsed document describes."""
    _check_keys(document, "the file", required=("features",), optional=("bundles", "requires", "unit"))
    bundles = document.get("bundles", {})
    for key, table in (("features", document["features"]), ("bundles", bundles)):
        if not isinstance(table, dict):
            raise CostError(f"{key} is {format_value(table)}. Expected a table with one entry per name.")
    for name, bundle in bundles.items():
        _check_keys(bundle, f"bundle {name!r}", required=("members", "price"))
    return {
        "costs": {name: None if price == "" else price for name, price in document["features"].items()},
        "bundles": {name: (bundle["members"], bundle["price"]) for name, bundle in bundles.items()},
        "requires": document.get("requires"),
        "unit": document.get("unit", ""),
    }


def document_of(model: CostModel) -> dict[str, Any]:
    """Return a cost model with names as a dict of plain values."""
    document = {
        "unit": model.unit,
        "features": {name: "" if price is None else price for name, price in model.costs.items()},
        "bundles": {name: {"price": p, "members": list(members)} for name, (members, p) in model.bundles.items()},
        "requires": {name: list(others) for name, others in model.requires.items()},
    }
    return {key: value for key, value in document.items() if value}


def _check_keys(table: Any, owner: str, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Raise a CostError if a table is not a dict, lacks a required key or has an unknown one."""
    expected = f"Expected {', '.join((*required, *optional))}."
    if not isinstance(table, dict):
        raise CostError(f"{owner} is {format_value(table)}. {expected}")
    for key in table:
        if key not in required + optional:
            raise CostError(f"{owner} has the unknown key {key!r}. {expected}")
    for key in required:
        if key not in table:
            raise CostError(f"{owner} lacks the key {key!r}. {expected}")


def _refuse_ambiguous_keys(node: yaml.Node | None, depth: int = 3) -> None:
    """Refuse keys that YAML accepts without warning: repeated ones, and ones such as `no` that it reads as a bool."""
    if not isinstance(node, yaml.MappingNode) or depth == 0:
        return
    seen = set()
    for key, value in node.value:
        with prefix_errors(f"line {key.start_mark.line + 1}"):
            if key.tag != "tag:yaml.org,2002:str":
                raise CostError(f"YAML does not read the key {key.value!r} as text. Put it in quotes.")
            if key.value in seen:
                raise CostError(f"the key {key.value!r} appears twice. Keep one.")
        seen.add(key.value)
        _refuse_ambiguous_keys(value, depth - 1)


def _line_of(error: tomllib.TOMLDecodeError, text: str) -> str:
    """Return the text of the line with the error, because tomllib gives only its number."""
    found = re.search(r"at line (\d+)", str(error))
    return f": {text.splitlines()[int(found[1]) - 1].strip()!r}" if found else ""


def _toml_lines(table: dict[str, Any]) -> list[str]:
    return [f"{_toml_key(key)} = {_toml(value)}" for key, value in table.items()]


def _toml_key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Any) -> str:
    """Return a value as JSON; its strings, numbers and lists are valid TOML once the DEL character is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
