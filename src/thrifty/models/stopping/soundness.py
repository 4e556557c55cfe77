"""Checks of the parts of a chain. Kernels follow its indices without checks, and a chain may come from a file."""

from typing import TYPE_CHECKING, Any

from thrifty.models.forests.forest import Forest
from thrifty.models.parameters import is_whole
from thrifty.models.soundness import is_numbers, is_whole_numbers, require
from thrifty.models.stopping.boundaries import Boundary
from thrifty.models.stopping.terms import KERNELS, Kernel, KernelTerms, LinearTerms, Terms, TreeTerms

if TYPE_CHECKING:
    from thrifty.models.stopping.chain import Chain


def refuse_unsound_chain(chain: "Chain", n_features: int) -> None:
    """Raise ValueError unless every index, length and type in a chain is valid."""
    _refuse_unsound_terms(chain.terms, n_features)
    n_scores, n_terms, n_checkpoints = *chain.terms.weights.shape, len(chain.checkpoints)
    _require(is_numbers(chain.prior, n_scores), "prior", f"{n_scores} numbers")
    _require(is_whole_numbers(chain.order, n_terms), "order", f"{n_terms} whole numbers")
    _require(is_numbers(chain.evaluation_costs, n_terms), "evaluation_costs", f"{n_terms} numbers")
    limits = isinstance(chain.boundary, Boundary) and all(is_numbers(each, n_checkpoints) for each in chain.boundary)
    _require(limits, "boundary", f"{n_checkpoints} numbers for each of its two sides")
    _require(n_checkpoints > 0, "checkpoints", "at least one")
    before = 0 if n_terms else -1
    for k, each in enumerate(chain.checkpoints):
        in_range = is_whole(each.first, 0) and is_whole(each.n_terms, before + 1) and each.n_terms <= n_terms
        weighted = in_range and is_numbers(each.weights, n_scores, each.n_terms - each.first)
        complete = weighted and is_numbers(each.intercept, n_scores) and isinstance(each.carry, bool)
        _require(complete, f"checkpoint {k}", f"an end in {before + 1}..{n_terms}, and a weight for every term")
        before = each.n_terms


def _refuse_unsound_terms(terms: Terms, n_features: int) -> None:
    n_scores, n_terms = terms.weights.shape
    _require(is_numbers(terms.weights, n_scores, n_terms), "weights", "numbers")
    _require(is_numbers(terms.intercept, n_scores), "intercept", f"{n_scores} numbers")
    filled = is_numbers(terms.fill, n_features) or (terms.fill is None and isinstance(terms, TreeTerms))
    _require(filled, "fill", f"{n_features} numbers")
    n_ids = n_features if isinstance(terms, LinearTerms) else n_terms
    in_range = is_whole_numbers(terms.ids, n_terms) and ((terms.ids >= 0) & (terms.ids < n_ids)).all()
    _require(in_range, "ids", f"{n_terms} whole numbers below {n_ids}")
    if isinstance(terms, KernelTerms):
        _require(
            is_numbers(terms.vectors, n_terms, n_features), "vectors", f"{n_terms} vectors of {n_features} numbers"
        )
        _refuse_unsound_kernel(terms.kernel)
    if isinstance(terms, TreeTerms):
        complete = isinstance(terms.forest, Forest) and terms.forest.n_features == n_features
        expected = f"{n_terms} outputs from {n_features} features"
        _require(complete and terms.forest.n_outputs == n_terms, "forest", expected)
    if isinstance(terms, KernelTerms | TreeTerms) and terms.scaling is not None:
        complete = all(is_numbers(each, n_features) for each in (terms.scaling.centre, terms.scaling.divisor))
        _require(complete, "scaling", f"{n_features} centres and {n_features} divisors")


def _refuse_unsound_kernel(kernel: Kernel) -> None:
    are_numbers = all(isinstance(each, float) for each in (kernel.gamma, kernel.coef0, kernel.degree))
    _require(kernel.name in KERNELS and are_numbers, "kernel", f"one of {', '.join(KERNELS)}, and three numbers")


def _require(condition: Any, part: str, expected: str) -> None:
    require(condition, f"the {part} of a chain is not valid; expected {expected}")
