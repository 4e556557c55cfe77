"""Checks that the parts of a chain belong together. Kernels follow its indices, and a chain may come from a file."""

from typing import TYPE_CHECKING, Any

import numpy as np

from thrifty.models.soundness import require
from thrifty.models.stopping.terms import KernelTerms, LinearTerms, Terms, TreeTerms

if TYPE_CHECKING:
    from thrifty.models.stopping.chain import Chain

MAX_CELLS = 2**28  # of the table of the features that each term or checkpoint reads


def refuse_unsound_chain(chain: "Chain", n_features: int) -> None:
    """Raise ValueError unless every index is valid and every length that of the other parts."""
    refuse_unsound_terms(chain.terms, n_features)
    n_scores, n_terms, n_checkpoints = *chain.terms.weights.shape, len(chain.checkpoints)
    _require(np.shape(chain.prior) == (n_scores,), "prior", f"{n_scores} numbers")
    _require(len(chain.order) == len(chain.evaluation_costs) == n_terms, "order", f"{n_terms} terms")
    limits = all(np.shape(each) == (n_checkpoints,) for each in chain.boundary)
    _require(limits, "boundary", f"{n_checkpoints} numbers for each of its sides")
    _require(n_checkpoints * n_features <= MAX_CELLS, "checkpoints", "fewer checkpoints, or fewer features")
    before = 0 if n_terms else -1
    for k, each in enumerate(chain.checkpoints):
        in_range = before < each.n_terms <= n_terms and 0 <= each.first <= each.n_terms
        weighted = in_range and np.shape(each.weights) == (n_scores, each.n_terms - each.first)
        complete = weighted and np.shape(each.intercept) == (n_scores,)
        _require(complete, f"checkpoint {k}", f"an end in {before + 1}..{n_terms}, and a weight for every term")
        before = each.n_terms


def refuse_unsound_terms(terms: Terms, n_features: int) -> None:
    """Raise ValueError unless every index is valid and every length fits this number of columns."""
    n_scores, n_terms = terms.weights.shape
    _require(np.shape(terms.intercept) == (n_scores,), "intercept", f"{n_scores} numbers")
    filled = isinstance(terms, TreeTerms) if terms.fill is None else terms.fill.shape == (n_features,)
    _require(filled, "fill", f"{n_features} numbers")
    n_ids = n_features if isinstance(terms, LinearTerms) else n_terms
    in_range = len(terms.ids) == n_terms and ((terms.ids >= 0) & (terms.ids < n_ids)).all()
    _require(in_range, "ids", f"{n_terms} whole numbers below {n_ids}")
    _require(np.unique(terms.ids).size == n_terms, "ids", "no term twice")
    if isinstance(terms, LinearTerms):
        _require(n_terms * n_features <= MAX_CELLS, "terms", "fewer terms, or fewer features")
    if isinstance(terms, KernelTerms):
        _require(terms.vectors.shape == (n_terms, n_features), "vectors", f"{n_terms} vectors of {n_features} numbers")
    if isinstance(terms, TreeTerms):
        complete = terms.forest.n_features == n_features and terms.forest.n_outputs == n_terms
        _require(complete, "forest", f"{n_terms} outputs from {n_features} features")
    if isinstance(terms, KernelTerms | TreeTerms) and terms.scaling is not None:
        complete = all(np.shape(each) == (n_features,) for each in (terms.scaling.centre, terms.scaling.divisor))
        _require(complete, "scaling", f"{n_features} centres and {n_features} divisors")


def _require(condition: Any, part: str, expected: str) -> None:
    require(condition, f"the {part} of a chain is not valid; expected {expected}")
