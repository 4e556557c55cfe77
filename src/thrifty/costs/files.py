"""Read and write cost models as files.

TOML, and YAML with the same keys. The keys unit, bundles and requires are optional::

    unit = "CAD"

    [features]                  # one line per column, in column order
    age = 1.0
    tt4 = 9.0
    t4u = 7.5
    fti = ""                    # without a price of its own

    [bundles."blood draw"]
    price = 2.1
    members = ["tt4", "t4u"]

    [requires]
    fti = ["tt4", "t4u"]

CSV, with semicolons between the entries of a cell. A row is a bundle if another row lists its name under bundles. All
other rows are features, in column order. An empty price means that the feature does not have a price of its own::

    name,price (CAD),bundles,requires
    age,1.0,,
    tt4,9.0,blood draw,
    t4u,7.5,blood draw,
    fti,,,tt4;t4u
    blood draw,2.1,,
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from thrifty.costs.declaration import default_names
from thrifty.costs.documents import parse_toml, parse_yaml, render_toml, render_yaml
from thrifty.costs.errors import prefix_errors
from thrifty.costs.model import CostModel
from thrifty.costs.spreadsheets import parse_csv, render_csv
from thrifty.exceptions import CostError
from thrifty.replacing import replacing

Parser = Callable[[str], dict[str, Any]]
Renderer = Callable[[CostModel], str]

FORMATS: dict[str, tuple[Parser, Renderer]] = {
    ".csv": (parse_csv, render_csv),
    ".toml": (parse_toml, render_toml),
    ".yaml": (parse_yaml, render_yaml),
    ".yml": (parse_yaml, render_yaml),
}


def read(path: Path) -> CostModel:
    """Read a cost model; errors name the file and, if it is known, the line."""
    with prefix_errors(str(path)):
        parse, _ = _format_of(path)
        try:
            return CostModel(**parse(path.read_bytes().decode("utf-8-sig")))
        except OSError as error:
            raise CostError(f"cannot be read ({error.strerror}). Check the path.") from None
        except UnicodeDecodeError as error:
            raise CostError(f"byte {error.start} is not UTF-8. Save the file as UTF-8.") from None


def write(model: CostModel, path: Path) -> Path:
    """Write a cost model and return the path; an incomplete file never replaces an existing one."""
    with prefix_errors(str(path)):
        _, render = _format_of(path)
        if model.names is None:
            model = CostModel.resolve(model, model.n_features, default_names(model.n_features))
        content = render(model).encode()
        try:
            with replacing(path) as unfinished:
                unfinished.write_bytes(content)
        except OSError as error:
            raise CostError(f"cannot be written ({error.strerror}). Check the path.") from None
    return path


def _format_of(path: Path) -> tuple[Parser, Renderer]:
    if path.suffix.lower() not in FORMATS:
        raise CostError(f"the file suffix {path.suffix!r} is unknown. Use {', '.join(FORMATS)}.")
    return FORMATS[path.suffix.lower()]
