"""The picture of a search in a notebook: a PNG image inside HTML, drawn without pyplot."""

from base64 import b64encode
from io import BytesIO
from typing import Any

from matplotlib.figure import Figure

from thrifty.plots.cost_curve import SEARCH_SIZE, CostCurveDisplay

DOTS_PER_INCH = 110


def search_picture(search: Any) -> str:
    """Return the cost curve of a fitted search as an HTML image."""
    figure, file = Figure(figsize=SEARCH_SIZE, layout="constrained"), BytesIO()
    CostCurveDisplay.from_search(search, ax=figure.subplots())
    figure.savefig(file, format="png", dpi=DOTS_PER_INCH, facecolor="white")
    encoded = b64encode(file.getvalue()).decode()
    return f'<img alt="score against mean spend per row" src="data:image/png;base64,{encoded}">'
