"""Read and write cost models as TOML and YAML. `thrifty.costs.files` describes the format."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import yaml

from thrifty.costs.errors import format_value, prefix_errors, shorten
from thrifty.costs.model import CostModel
from thrifty.exceptions import CostError

_YamlLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C versions are ten times faster
_YamlDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_MAX_DEPTH = 20  # levels of nesting; a price list has four
_TOML_KEY = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.){0,99}"|'[^'\n]{0,99}')[ \t]*+"""
_LONG_TOML_KEY = re.compile(rf"(?<![\w-])(?:{_TOML_KEY}\.[ \t]*+){{{_MAX_DEPTH}}}")
_MAX_REPEATED = 1_000_000  # entries of lists that may come from aliases
_NUMBER_TAGS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_UNUSUAL_NUMBER = re.compile(r"[+-]?0[0-9a-z].*|.*[_:].*", re.IGNORECASE)


def parse_toml(text: str) -> dict[str, Any]:
    """Return the arguments of the CostModel that a TOML text describes."""
    _refuse_long_keys(text)
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise _too_deep("TOML") from None
    except ValueError as error:
        raise CostError(f"{shorten(str(error))}{_line_of(error, text)}. Correct the TOML.") from None
    return arguments_of(document)


def parse_yaml(text: str) -> dict[str, Any]:
    """Return the arguments of the CostModel that a YAML text describes."""
    try:
        _refuse_deep_nesting(text)
        node = yaml.compose(text, Loader=_YamlLoader)
        _refuse_ambiguous_scalars(node)
        document = None if node is None else _YamlLoader("").construct_document(node)
        _refuse_repeated_lists(document, len(text))
    except CostError:
        raise
    except (yaml.YAMLError, ValueError) as error:
        raise CostError(f"{shorten(str(error))}. Correct the YAML.") from None
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
    text = yaml.dump(document, Dumper=_YamlDumper, sort_keys=False, allow_unicode=True)
    if set("\x85\u2028\u2029").isdisjoint(text):
        return text
    return yaml.dump(document, Dumper=_YamlDumper, sort_keys=False)  # it would lose these line breaks unescaped


def arguments_of(document: Any) -> dict[str, Any]:
    """Return the arguments of the CostModel that a parsed document describes."""
    _check_keys(document, "the file", required=("features",), optional=("bundles", "requires", "unit"))
    bundles = document.get("bundles", {})
    for key, table in (("features", document["features"]), ("bundles", bundles)):
        if not isinstance(table, dict):
            raise CostError(f"{key} is {format_value(table)}. Expected a table with one entry per name.")
    for name, bundle in bundles.items():
        _check_keys(bundle, f"bundle {format_value(name)}", required=("members", "price"))
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
            raise CostError(f"{owner} has the unknown key {format_value(key)}. {expected}")
    for key in required:
        if key not in table:
            raise CostError(f"{owner} lacks the key {format_value(key)}. {expected}")


def _refuse_long_keys(text: str) -> None:
    """Refuse keys a.b.c... of many parts: a table for each part would be nested too deeply, and slow to parse."""
    if _LONG_TOML_KEY.search(text):
        raise _too_deep("TOML")


def _refuse_deep_nesting(text: str) -> None:
    """Refuse a YAML text that is nested too deeply, before PyYAML builds it by recursion."""
    depth = 0
    for event in yaml.parse(text, Loader=_YamlLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise _too_deep("YAML")


def _refuse_repeated_lists(document: Any, length: int) -> None:
    """Refuse a YAML document in which aliases repeat long lists so often that a short text becomes very large."""
    tables = [document.get(key) for key in ("bundles", "requires")] if isinstance(document, dict) else []
    contents = [content for table in tables if isinstance(table, dict) for content in table.values()]
    lists = [content.get("members") if isinstance(content, dict) else content for content in contents]
    if sum(len(each) for each in lists if isinstance(each, list)) > _MAX_REPEATED + length:
        raise CostError("aliases repeat its lists too often. Write a smaller price list.")


def _too_deep(language: str) -> CostError:
    return CostError(f"the {language} is nested too deeply. A price list has at most four levels.")


def _refuse_ambiguous_scalars(node: yaml.Node | None, depth: int = 3) -> None:
    """Refuse what YAML accepts without warning: repeated keys, keys such as `no`, and numbers such as 010 or 1:30."""
    if isinstance(node, yaml.ScalarNode) and node.tag in _NUMBER_TAGS and _UNUSUAL_NUMBER.fullmatch(node.value):
        with prefix_errors(f"line {node.start_mark.line + 1}"):
            raise CostError(f"{format_value(node.value)} is not a plain decimal number. Write it with digits only.")
    if not isinstance(node, yaml.MappingNode) or depth == 0:
        return
    seen = set()
    for key, value in node.value:
        with prefix_errors(f"line {key.start_mark.line + 1}"):
            if key.tag != "tag:yaml.org,2002:str":
                raise CostError(f"YAML does not read the key {format_value(key.value)} as text. Put it in quotes.")
            if key.value in seen:
                raise CostError(f"the key {format_value(key.value)} appears twice. Keep one.")
        seen.add(key.value)
        _refuse_ambiguous_scalars(value, depth - 1)


def _line_of(error: ValueError, text: str) -> str:
    """Return the text of the line with the error, because tomllib gives only its number."""
    found = re.search(r"at line (\d+)", str(error))
    return f": {format_value(text.splitlines()[int(found[1]) - 1].strip())}" if found else ""


def _toml_lines(table: dict[str, Any]) -> list[str]:
    return [f"{_toml_key(key)} = {_toml(value)}" for key, value in table.items()]


def _toml_key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _toml(key)


def _toml(value: Any) -> str:
    """Return a value as JSON; its strings, numbers and lists are valid TOML once the DEL character is escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
