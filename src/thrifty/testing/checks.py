"""Checks that every estimator of the package passes. Estimators written elsewhere should pass them too.

Each check takes an unfitted estimator and raises AssertionError if the contract is broken::

    from thrifty.testing import check_estimator
    check_estimator(MyClassifier())

One parametrised test runs every check, and the checks of scikit-learn, on every public estimator.
"""

import copy
import json
import pickle
from collections.abc import Callable
from functools import lru_cache
from inspect import Parameter, isabstract, signature
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator as sklearn_check_estimator

from thrifty.costs import CostModel
from thrifty.metrics import ndcg_at_k
from thrifty.models.base import BudgetedEstimator
from thrifty.models.mixtures.mixture import Mixture
from thrifty.models.outline import Outline
from thrifty.models.session import Acquire, drive
from thrifty.models.tables.table_model import TableModel
from thrifty.persistence import load, save
from thrifty.testing.constant_answer import check_no_cap_is_worse_than_a_constant

N_ROWS, N_FEATURES = 240, 9
PRICES = (1.0, 2.5, 0.0, 4.0, 0.7, 3.0, 1.3, 5.0, 0.3)
BUNDLES = {"panel": ((3, 4, 5), 2.2), "scan": ((5, 6), 6.1)}
EVALUATION_COST = 0.15
CAPS = (0.0, 0.3, 1.0, 3.2, 6.9, 12.4, 25.0)

Check = Callable[[Any], None]


def check_estimator(estimator: Any) -> None:
    """Run the checks of scikit-learn and of this package on an unfitted estimator.

    Parameters
    ----------
    estimator : BudgetedEstimator
        It is cloned and fitted.

    Raises
    ------
    AssertionError
        If a check fails. A check of scikit-learn may raise another exception.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> check_estimator(CostWeightedL1Regressor())
    """
    sklearn_check_estimator(clone(estimator), on_skip=None, expected_failed_checks=expected_failures(estimator))
    for check in CHECKS:
        check(estimator)


def expected_failures(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator need not pass, with the reasons."""
    reason = "the position of a row in a batch decides which model answers it"
    names = ("check_methods_sample_order_invariance", "check_methods_subset_invariance")
    return dict.fromkeys(names, reason) if getattr(estimator, "_depends_on_position", False) else {}


def public_estimators() -> list[type]:
    """Return every estimator class that `thrifty` exports and whose parameters all have defaults."""
    import thrifty

    exported = (getattr(thrifty, name) for name in thrifty.__all__)
    return [each for each in exported if isinstance(each, type) and _is_estimator(each) and not _requires(each)]


def _is_estimator(each: type) -> bool:
    return issubclass(each, BudgetedEstimator) and not isabstract(each)


def _requires(each: type) -> list[str]:
    """Return the parameters without a default."""
    return [name for name, parameter in signature(each).parameters.items() if parameter.default is Parameter.empty]


def check_batch_equals_session(estimator: Any) -> None:
    """Check that a session acquires, spends and predicts exactly what batch prediction does, under every cap."""
    for model, X in _fitted(estimator):
        for cap in (None, *CAPS):
            batch = model.acquire(X[:40], cap)
            for i in range(40):
                _compare_session(model, X[i], cap, batch, i)


def _compare_session(model: Any, row: np.ndarray, cap: float | None, batch: Any, i: int, at_once: bool = True) -> None:
    asked: list[Any] = []
    session, announced, partial = model.for_positions([i]).session(cap), 0.0, False
    while isinstance(step := session.next(), Acquire):
        assert step.features or step.cost, f"row {i}: session announced a step without features and without cost"
        assert session.next() == step, f"row {i}: next() called twice returns another step"
        if not partial:
            np.testing.assert_allclose(session.spend, announced, atol=1e-12, err_msg=f"row {i}: charged too early")
        observed = step.features if at_once else step.features[:1]
        asked += observed
        announced += step.cost
        session.observe({feature: row[feature] for feature in observed})
        partial = len(observed) < len(step.features)
        if not partial:
            np.testing.assert_allclose(announced, session.spend, rtol=1e-12, atol=1e-12, err_msg=f"row {i}")
    assert step.reason in ("done", "cap"), f"row {i}: session stopped for the reason {step.reason!r}"
    assert set(asked) == set(np.flatnonzero(batch.acquired[i])), f"row {i}: session acquired {asked}"
    assert len(asked) == len(set(asked)), f"row {i}: session asked twice in {asked}"
    assert session.spend == batch.spend[i], f"row {i}: session spent {session.spend}, batch {batch.spend[i]}"
    np.testing.assert_allclose(announced, session.spend, rtol=1e-12, atol=1e-12)
    assert step.exit == batch.exit[i], f"row {i}: session ended at {step.exit}, batch at {batch.exit[i]}"
    np.testing.assert_array_equal(step.score, batch.score[i])
    assert step.prediction == batch.prediction[i]


def check_unavailable(estimator: Any) -> None:
    """Check that a session treats an unavailable feature as a batch treats NaN, and does not ask for it again."""
    random = np.random.default_rng(3)
    for X, y in _problems(estimator):
        every_other = np.arange(N_FEATURES) % 2 == 0  # other columns are missing only in prediction
        missing_in_training = every_other & (random.random(X.shape) < 0.3)
        model = _with_costs(estimator, _costs()).fit(np.where(missing_in_training, np.nan, X), y)
        missing = random.random((40, N_FEATURES)) < np.linspace(0.1, 1.0, 40)[:, None]
        rows = X[:40].astype(object)
        rows[missing] = None
        for cap in (None, *CAPS):
            batch = model.acquire(rows.astype(float), cap)
            assert np.isfinite(batch.score).all(), "a score is not finite although unavailable features are allowed"
            for i, row in enumerate(rows):
                _compare_session(model, row, cap, batch, i, at_once=i % 2 == 0)


def check_cap_holds(estimator: Any) -> None:
    """Check that no row spends more than its cap, and that a row with a cap of 0 gets a prediction."""
    for model, X in _fitted(estimator):
        for cap in CAPS:
            assert (model.spend(X, cap) <= cap).all(), f"spend exceeds cap {cap}"
        caps = np.resize(CAPS, len(X))
        assert (model.spend(X, caps) <= caps).all(), "spend exceeds a cap given per row"
        assert len(model.predict(X, cap=0)) == len(X)
        own = model.spend(X)
        below = np.maximum(own - 1e-6, 0.0)
        assert (model.spend(X, below) <= below).all(), "spend exceeds a cap just below what a row spends without one"
        capped = model.acquire(X, caps)
        np.testing.assert_array_equal(model.predict(X, caps), capped.prediction, err_msg="predict ignores the cap")
        if is_classifier(estimator):
            expected = model._probabilities(capped.score)
            np.testing.assert_array_equal(
                model.predict_proba(X, caps), expected, err_msg="predict_proba ignores the cap"
            )
        np.testing.assert_array_equal(model.spend(X, own), own, err_msg="a cap equal to the spend of a row changes it")


def check_spend_is_what_was_acquired(estimator: Any) -> None:
    """Check that the spend is the cost of the units of the acquired features, each once, plus whole evaluations."""
    for model, X in _fitted(estimator):
        for cap in (None, *CAPS):
            acquisition = model.acquire(X, cap)
            recount = [_recount(model.cost_model_, mask) for mask in acquisition.acquired]
            n_evaluations = np.rint((acquisition.spend - recount) / EVALUATION_COST)
            assert (n_evaluations >= 0).all(), "a row spends less than its features cost"
            assert _evaluation_costs(estimator) or not n_evaluations.any(), "a row spends more than its features cost"
            free = _evaluation_costs(estimator) and cap is None and acquisition.acquired.any()
            assert not free or n_evaluations.any(), "evaluation is not charged"
            expected = recount + EVALUATION_COST * n_evaluations
            np.testing.assert_allclose(acquisition.spend, expected, rtol=1e-12, atol=1e-12)
            parts = acquisition.feature_spend, acquisition.evaluation_spend
            np.testing.assert_allclose(parts, [recount, EVALUATION_COST * n_evaluations], rtol=1e-12, atol=1e-12)
            np.testing.assert_array_equal(model.spend(X, cap), acquisition.spend)


def _recount(cost_model: CostModel, mask: np.ndarray) -> float:
    units = {u for j in np.flatnonzero(mask) for u in np.flatnonzero(cost_model.requirement[j])}
    return float(sum(cost_model.unit_costs[u] for u in units))


def check_no_peeking(estimator: Any) -> None:
    """Check that nothing changes if every value that was not acquired is set to NaN."""
    for model, X in _fitted(estimator):
        for cap in (None, *CAPS):
            expected = model.acquire(X, cap)
            found = model.acquire(np.where(expected.acquired, X, np.nan), cap)
            for name in ("prediction", "score", "acquired", "spend", "exit"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def check_column_order_is_immaterial(estimator: Any) -> None:
    """Check that permuting columns together with their costs permutes `acquired` and changes nothing else."""
    order = np.random.default_rng(5).permutation(N_FEATURES)
    costs = _costs().select(order)
    for (model, X), (_, y) in zip(_fitted_without_evaluation(estimator), _problems(estimator), strict=True):
        plain = model.acquire(X)
        permuted = _with_costs(estimator, costs).fit(X[:, order], y).acquire(X[:, order])
        np.testing.assert_array_equal(permuted.acquired, plain.acquired[:, order])
        np.testing.assert_allclose(permuted.score, plain.score, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(permuted.spend, plain.spend)


def check_unit_of_cost_is_immaterial(estimator: Any) -> None:
    """Check that costs in cents, with all parameters that are amounts converted, give the same model as dollars."""
    for (model, X), (_, y) in zip(_fitted_without_evaluation(estimator), _problems(estimator), strict=True):
        dollars = model.acquire(X)
        cents = _in_cents(_with_costs(estimator, _costs(scale=100))).fit(X, y).acquire(X)
        np.testing.assert_array_equal(cents.acquired, dollars.acquired)
        np.testing.assert_allclose(cents.score, dollars.score, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(cents.spend, 100 * dollars.spend)


def _in_cents(estimator: Any) -> Any:
    """Convert the parameters that are amounts, or weights per unit of cost, from dollars to cents."""
    parameters = estimator.get_params(deep=False)
    if isinstance(estimator, TableModel | Mixture):  # which fit other estimators with their own costs
        inner = {name: value for name, value in parameters.items() if isinstance(value, BudgetedEstimator)}
        estimator.set_params(**{name: _in_cents(value) for name, value in inner.items()})
    relative = getattr(estimator, "_relative_cost_weight", False)  # relative to the cost of all features
    if parameters.get("cost_weight") is not None and not relative:
        estimator.set_params(cost_weight=parameters["cost_weight"] / 100)
    for name in ("node_budget", "price_limits", "budget", "cap", "cheap_cap", "dear_cap"):
        if parameters.get(name) is not None:
            estimator.set_params(**{name: np.asarray(parameters[name]) * 100})
    return estimator


def check_copies_agree(estimator: Any) -> None:
    """Check that pickled and deep-copied models predict and spend the same, and that a clone has equal costs."""
    for model, X in _fitted(estimator):
        expected = model.acquire(X)
        for duplicate in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            np.testing.assert_array_equal(duplicate.acquire(X).score, expected.score)
            np.testing.assert_array_equal(duplicate.spend(X), expected.spend)
        assert clone(model).get_params()["costs"] == model.get_params()["costs"]


def check_files_agree(estimator: Any) -> None:
    """Check that a model that is saved and loaded acquires, spends and predicts the same.

    Estimators of other packages are skipped, because files may contain only classes of thrifty.
    """
    if not type(estimator).__module__.startswith("thrifty."):
        return
    for model, X in _fitted(estimator):
        with TemporaryDirectory() as folder:
            loaded = load(save(model, Path(folder, "model.thrifty")))
        assert repr(loaded.get_params()) == repr(model.get_params())
        for cap in (None, *CAPS):
            expected, found = model.acquire(X, cap), loaded.acquire(X, cap)
            for name in ("prediction", "score", "acquired", "spend", "exit"):
                np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
            for i in range(10):
                _compare_session(loaded, X[i], cap, expected, i)


def check_seed_decides(estimator: Any) -> None:
    """Check that two fits with the same random state give exactly the same scores and spends."""
    for (model, X), (_, y) in zip(_fitted_without_evaluation(estimator), _problems(estimator), strict=True):
        first, second = model.acquire(X), _with_costs(estimator, _costs()).fit(X, y).acquire(X)
        np.testing.assert_array_equal(first.score, second.score)
        np.testing.assert_array_equal(first.spend, second.spend)


def check_names_are_understood(estimator: Any) -> None:
    """Check that costs are matched with columns by name, in any order, and that sessions use the names."""
    pandas = _optional("pandas")
    if pandas is None:
        return
    names = [f"feature {j}" for j in range(N_FEATURES)]
    for X, y in _problems(estimator):
        frame = pandas.DataFrame(X, columns=names)
        by_name = dict(reversed(list(zip(names, PRICES, strict=True))))
        model = _with_costs(estimator, by_name).fit(frame, y)
        by_position = _with_costs(estimator, list(PRICES)).fit(X, y)
        np.testing.assert_allclose(model.spend(frame), by_position.spend(X))
        stop = drive(model.for_positions([0]).session(), dict(zip(names, X[0], strict=True)).__getitem__)
        assert stop.prediction == model.predict(frame[:1])[0]


def check_queries_are_understood(estimator: Any) -> None:
    """Check that all methods accept queries, and that `score` of models that predict numbers is then NDCG@5."""
    for X, y in _problems(estimator):
        qid = np.arange(len(X)) // 12
        model = _with_costs(estimator, _costs()).fit(X, y, qid=qid)
        acquisition = model.acquire(X, qid=qid)
        np.testing.assert_array_equal(model.predict(X, qid=qid), acquisition.prediction)
        np.testing.assert_array_equal(model.spend(X, qid=qid), acquisition.spend)
        if not is_classifier(estimator):
            grades = np.searchsorted(np.quantile(y, [0.5, 0.8]), y)
            expected = ndcg_at_k(grades, acquisition.score, qid=qid, k=5)
            np.testing.assert_allclose(model.score(X, grades, qid=qid), expected)
        assert "qid" in _error_of(lambda: model.acquire(X, qid=qid[:-1])), "queries of the wrong length are accepted"  # noqa: B023


def _error_of(call: Callable[[], Any]) -> str:
    """Return the type and the message of the error that a call raises; empty if it does not raise one."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def check_failed_fit_leaves_no_parts(estimator: Any) -> None:
    """Check that a model whose second fit fails does not predict with parts of both fits."""
    for model, X in _fitted(estimator):
        assert _error_of(lambda: model.fit(X[:, :3], np.zeros(len(X)))), "a fit with costs for other columns succeeds"  # noqa: B023
        assert _error_of(lambda: model.predict(X[:, :3])), "a model whose fit failed predicts"  # noqa: B023


def check_describes_itself(estimator: Any) -> None:
    """Check that a fitted model has a record of its training and an outline, and passes `refuse_unsound`."""
    for model, X in _fitted(estimator):
        assert model.training_.n_rows == len(X)
        model.refuse_unsound()
        outline = model.outline(model.acquire(X).exit)
        assert isinstance(outline, Outline)
        assert outline.summary in str(outline)
        assert "<" in outline._repr_html_()
        assert json.loads(json.dumps(outline.structure())) is not None


CHECKS: list[Check] = [
    check_batch_equals_session,
    check_unavailable,
    check_cap_holds,
    check_spend_is_what_was_acquired,
    check_no_peeking,
    check_column_order_is_immaterial,
    check_unit_of_cost_is_immaterial,
    check_copies_agree,
    check_files_agree,
    check_seed_decides,
    check_names_are_understood,
    check_queries_are_understood,
    check_failed_fit_leaves_no_parts,
    check_describes_itself,
    check_no_cap_is_worse_than_a_constant,
]


def _costs(scale: float = 1.0) -> CostModel:
    """Return prices with a free feature, two overlapping bundles, a prerequisite and odd amounts."""
    bundles = {name: (members, price * scale) for name, (members, price) in BUNDLES.items()}
    return CostModel(np.array(PRICES) * scale, bundles=bundles, requires={8: (0,)})


def _problems(estimator: Any) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return data sets for the task of the estimator; a classifier gets two classes, and four if it supports them."""
    random = np.random.default_rng(11)
    X = random.normal(size=(N_ROWS, N_FEATURES)) + random.normal(size=(N_ROWS, 1))
    X *= 1.0 + np.arange(N_FEATURES)
    signal = X @ random.normal(size=(N_FEATURES, 2)) + random.normal(scale=3.0, size=(N_ROWS, 2))
    signal[:, 0] += 6.0 * np.sign(X[:, 2]) * X[:, 7] / 8.0
    signs = signal > np.median(signal, axis=0)
    if get_tags(estimator).target_tags.positive_only:  # a ranker's labels
        return [(X, signs.sum(axis=1))]
    if not is_classifier(estimator):
        return [(X, signal[:, 0])]
    problems = [(X, np.where(signs[:, 0], "yes", "no")), (X, signs @ [1, 2])]
    return problems if get_tags(estimator).classifier_tags.multi_class else problems[:1]


def _with_costs(estimator: Any, costs: Any) -> Any:
    ready = clone(estimator).set_params(costs=costs)
    return ready.set_params(random_state=0) if "random_state" in ready.get_params(deep=False) else ready


def _with_evaluation_cost(estimator: Any) -> Any:
    """Return a clone whose parameters named evaluation_cost, nested ones included, are EVALUATION_COST."""
    return clone(estimator).set_params(**dict.fromkeys(_evaluation_parameters(estimator), EVALUATION_COST))


def _evaluation_parameters(estimator: Any) -> list[str]:
    return [name for name in estimator.get_params() if name.rpartition("__")[2] == "evaluation_cost"]


def _evaluation_costs(estimator: Any) -> bool:
    """Tell whether evaluation can cost something, because of a parameter of the estimator or its feature map."""
    feature_map = estimator.get_params().get("feature_map")
    return bool(_evaluation_parameters(estimator)) or bool(getattr(feature_map, "evaluation_costs", 0.0))


def _fitted(estimator: Any) -> list[tuple[Any, np.ndarray]]:
    """Return models fitted with costs and evaluation costs, each with its rows."""
    return _copies_of_fitted(estimator, evaluation_costs=bool(_evaluation_parameters(estimator)))


def _fitted_without_evaluation(estimator: Any) -> list[tuple[Any, np.ndarray]]:
    """Return models fitted with costs, each with its rows."""
    return _copies_of_fitted(estimator, evaluation_costs=False)


def _copies_of_fitted(estimator: Any, evaluation_costs: bool) -> list[tuple[Any, np.ndarray]]:
    """Return models that no other check has changed: many checks need the same fits, so each gets copies of them."""
    return copy.deepcopy(_fitted_once(estimator, repr(estimator.get_params()), evaluation_costs))


@lru_cache(maxsize=2)
def _fitted_once(estimator: Any, parameters: str, evaluation_costs: bool) -> list[tuple[Any, np.ndarray]]:
    """Fit an estimator; it is fitted again if its parameters have changed."""
    charged = _with_evaluation_cost(estimator) if evaluation_costs else estimator
    return [(_with_costs(charged, _costs()).fit(X, y), X) for X, y in _problems(estimator)]


def _optional(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError:
        return None
