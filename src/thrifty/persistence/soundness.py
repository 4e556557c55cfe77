"""Whether a loaded model can be used: every index, length and type that kernels do not check.

Structures rebuilt by their constructors check themselves while they are read. Each estimator then checks that its
parts fit together (`BudgetedEstimator.refuse_unsound`), and `scikit_learn` checks scikit-learn's structures.
"""

from typing import Any

from thrifty.exceptions import ModelFileError
from thrifty.models.base import BudgetedEstimator
from thrifty.persistence.errors import one_line, refuse_unless
from thrifty.persistence.scikit_learn import refuse_unsound_parts


def refuse_unsound(model: Any) -> None:
    """Raise ModelFileError if a model cannot predict, or would make a kernel read outside its arrays."""
    try:
        refuse_unsound_parts(model)
        refuse_unless(isinstance(model, BudgetedEstimator), "it is not an estimator of thrifty")
        type(model).refuse_unsound(model)
    except Exception as error:  # an attribute of the wrong type can raise anything
        raise ModelFileError(f"the model is not consistent: {one_line(error)}.") from error
