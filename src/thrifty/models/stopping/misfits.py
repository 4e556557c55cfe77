"""What a chain refuses to be made of: kernels index without looking, and chains also come from files."""

from typing import TYPE_CHECKING

from thrifty.models.forests.forest import Forest
from thrifty.models.parameters import is_whole
from thrifty.models.soundness import is_numbers, is_whole_numbers
from thrifty.models.stopping.boundaries import Boundary
from thrifty.models.stopping.terms import KERNELS, Kernel, KernelTerms, LinearTerms, Terms, TreeTerms

if TYPE_CHECKING:
    from thrifty.models.stopping.chain import Chain


def refuse_misfits(chain: "Chain", n_features: int) -> None:
    """Check every index, length and type."""
    _refuse_unsound_terms(chain.terms, n_features)
    n_scores, n_terms, n_checkpoints = *chain.terms.weights.shape, len(chain.checkpoints)
    _refuse_unless(is_numbers(chain.prior, n_scores), "prior", f"{n_scores} numbers")
    _refuse_unless(is_whole_numbers(chain.order, n_terms), "order", f"{n_terms} whole numbers")
    _refuse_unless(is_numbers(chain.evaluation_costs, n_terms), "evaluation_costs", f"{n_terms} numbers")
    limited = isinstance(chain.boundary, Boundary) and all(is_numbers(each, n_checkpoints) for each in chain.boundary)
    _refuse_unless(limited, "boundary", f"{n_checkpoints} numbers on both sides")
    _refuse_unless(n_checkpoints > 0, "checkpoints", "one at least")
    before = 0 if n_terms else -1
    for k, each in enumerate(chain.checkpoints):
        within = is_whole(each.first, 0) and is_whole(each.n_terms, before + 1) and each.n_terms <= n_terms
        weighed = within and is_numbers(each.weights, n_scores, each.n_terms - each.first)
        fitting = weighed and is_numbers(each.intercept, n_scores) and isinstance(each.carry, bool)
        _refuse_unless(fitting, f"checkpoint {k}", f"an end in {before + 1}..{n_terms}, and a weight for every term")
        before = each.n_terms


def _refuse_unsound_terms(terms: Terms, n_features: int) -> None:
    n_scores, n_terms = terms.weights.shape
    _refuse_unless(is_numbers(terms.weights, n_scores, n_terms), "weights", "numbers")
    _refuse_unless(is_numbers(terms.intercept, n_scores), "intercept", f"{n_scores} numbers")
    filled = is_numbers(terms.fill, n_features) or (terms.fill is None and isinstance(terms, TreeTerms))
    _refuse_unless(filled, "fill", f"{n_features} numbers")
    n_own = n_features if isinstance(terms, LinearTerms) else n_terms
    known = is_whole_numbers(terms.ids, n_terms) and ((terms.ids >= 0) & (terms.ids < n_own)).all()
    _refuse_unless(bool(known), "ids", f"{n_terms} whole numbers below {n_own}")
    if isinstance(terms, KernelTerms):
        _refuse_unless(is_numbers(terms.vectors, n_terms, n_features), "vectors", f"{n_terms} lines of {n_features}")
        _refuse_unsound_kernel(terms.kernel)
    if isinstance(terms, TreeTerms):
        fitting = isinstance(terms.forest, Forest) and terms.forest.n_features == n_features
        _refuse_unless(fitting and terms.forest.n_outputs == n_terms, "forest", f"{n_terms} outputs of {n_features}")
    if isinstance(terms, KernelTerms | TreeTerms) and terms.scaling is not None:
        fitting = all(is_numbers(step, n_features) for step in (terms.scaling.centre, terms.scaling.divisor))
        _refuse_unless(fitting, "scaling", f"{n_features} numbers each")


def _refuse_unsound_kernel(kernel: Kernel) -> None:
    numbers = all(isinstance(each, float) for each in (kernel.gamma, kernel.coef0, kernel.degree))
    _refuse_unless(kernel.name in KERNELS and numbers, "kernel", f"one of {', '.join(KERNELS)}, and three numbers")


def _refuse_unless(fine: bool, part: str, expected: str) -> None:
    if not fine:
        raise ValueError(f"the {part} of a chain does not fit; expected {expected}")
