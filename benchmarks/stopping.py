"""Attentive prediction: experiments like those of Pelossof and Ying (2012), and the speed-up by early stopping.

The stop-error is the share of rows whose answer differs from the answer of the full predictor. The boundaries here are
those of the papers; ``benchmarks.stop_errors`` compares the default boundary with them.
To run a single table: ``python -c "import benchmarks.stopping as b; b.mnist()"``.
"""

from functools import cache, partial

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import Bunch

from benchmarks.problems import missing
from benchmarks.report import at_least, at_most, ratio, report, seconds, table
from thrifty.datasets import load, load_mnist
from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.models.stopping.curves import attentive_curve, truncated_curve

MAX_STOP_ERROR = 0.3  # up to here the paper finds early stopping better than truncation
SMALL_STOP_ERROR = 0.001  # the loss of accuracy is at most the stop-error
GREEDY = {"delta": 0.001}
PAPER = {"order": "random", "refit": False, "block_size": 4}  # random order of terms, no refit of their weights
STOP_ERRORS = (0.0, SMALL_STOP_ERROR, 0.01, 0.05, 0.2)
CURVES = (attentive_curve, truncated_curve)
N_DRAWS = 5  # random orders
N_SPLITS = 200


def main() -> None:
    mnist()
    text()
    wide()
    speed()
    ensemble()
    certified()


def mnist() -> None:
    """Compare stopping rules on digits with an RBF support vector machine, as in Fig. 4."""
    if missing("mnist"):
        return
    data = _digits()
    models = _models(data, **GREEDY)
    _compare("MNIST digits 2 and 5, RBF support vector machine", data, models)
    plain, refitted = ([_share_within(each, data) for each in models[key]] for key in ("random, no refit", "random"))
    published = [
        AttentiveClassifier.as_published(data.predictor, random_state=seed).fit(data.X, data.y)
        for seed in range(N_DRAWS)
    ]
    as_published, cut = ([_share_within(each, data, curve) for each in published] for curve in CURVES)
    (greedy,) = models["greedy"]
    found = greedy.acquire(data.X_test)
    lost = np.mean(data.full == data.y_test) - np.mean(found.prediction == data.y_test)
    report(
        f"MNIST: evaluated share of the terms at a stop-error of at most {SMALL_STOP_ERROR:.1%}",
        [
            at_most(f"as published, median of {N_DRAWS} draws", np.median(as_published), 92, "%"),
            at_least("truncated in the same orders", np.median(cut), 94, "%"),
            at_most(f"random order, no refit, smallest of {N_DRAWS} draws", min(plain), 60, "%"),
            at_most(f"random order, no refit, median of {N_DRAWS} draws", np.median(plain), 60, "%"),
            at_most(f"random order, refitted, largest of {N_DRAWS} draws", max(refitted), 60, "%"),
            at_most("greedy order, boundary chosen on test rows", _share_within(greedy, data), 4, "%"),
            at_most("greedy order, delta 0.001, boundary fitted on training rows", _share(greedy, found), 4, "%"),
            at_most("loss of accuracy of this model", 100 * lost, 0.1, "percentage points"),
        ],
    )


def text() -> None:
    """Compare stopping rules on sparse text with a linear support vector machine, as in Fig. 4."""
    for name in ("basehock", "pcmac"):
        if not missing(name):
            data = _split(load(name), LinearSVC(C=0.01, max_iter=20_000, random_state=0), csr_matrix)
            _compare(f"{name}, sparse text, linear support vector machine", data, _models(data))


def wide() -> None:
    """Compare stopping rules on dense rows with many columns: spoken letters A to M and N to Z, as in Fig. 4."""
    if missing("isolet"):
        return
    isolet = load("isolet")
    data = _split(Bunch(X=isolet.X, y=isolet.y >= 13), LinearSVC(max_iter=20_000, random_state=0), np.ascontiguousarray)
    _compare("isolet, linear support vector machine", data, _models(data))


def speed() -> None:
    """Measure the speed-up of the greedy model of `mnist` over the evaluation of all terms."""
    if missing("mnist"):
        return
    data = _digits()
    machine, model, rows = data.predictor, _fitted(data, **GREEDY), data.X_test.astype(float)
    vectors, squares = machine.support_vectors_.astype(float), (machine.support_vectors_.astype(float) ** 2).sum(axis=1)

    def by_blas():
        distances = (rows**2).sum(axis=1)[:, None] + squares - 2 * (rows @ vectors.T)
        return np.exp(-machine.gamma * distances) @ machine.dual_coef_[0] + machine.intercept_

    np.testing.assert_allclose(by_blas(), machine.decision_function(data.X_test), atol=1e-3)
    acquire = partial(model.acquire, rows)
    whole = AttentiveClassifier(machine, delta=0).fit(data.X, data.y)
    report(
        f"MNIST, {len(vectors)} support vectors, {len(rows)} rows",
        [
            at_least("speed-up over the evaluation of all terms by BLAS", 1 / ratio(acquire, by_blas, 9), 5),
            at_least(
                "speed-up over SVC.decision_function", 1 / ratio(acquire, partial(machine.decision_function, rows)), 40
            ),
            at_most("time with all terms (delta 0) / time of BLAS", ratio(partial(whole.acquire, rows), by_blas), 2),
        ],
    )


def ensemble() -> None:
    """Compare with the early stopping of LightGBM on 500 trees.

    The contender is the fastest setting of LightGBM whose stop-error is not larger than ours.
    """
    if missing("spambase"):
        return
    import lightgbm

    booster = lightgbm.LGBMClassifier(n_estimators=500, n_jobs=1, verbose=-1, random_state=0)
    data = _split(load("spambase"), booster, np.ascontiguousarray)
    predict = partial(data.predictor.booster_.predict, data.X_test, raw_score=True, num_threads=1)
    full = predict()
    theirs = []
    for margin in (2, 2.5, 3, 3.5, 4, 5, 6, 8, 12):
        for period in (5, 10, 20):
            early = partial(predict, pred_early_stop=True, pred_early_stop_margin=margin, pred_early_stop_freq=period)
            theirs.append(
                (np.mean((early() > 0) != (full > 0)), seconds(early, 15), f"margin {margin}, period {period}")
            )
    all_trees, lines = seconds(predict, 5), []
    for name, order in (("order of boosting", np.arange(500)), ("greedy order", "greedy")):
        for delta in (0.01, 0.003, 0.001):
            model = _fitted(data, order=order, delta=delta)
            ours = np.mean((model.decision_function(data.X_test) > 0) != (full > 0))
            our_time = seconds(partial(model.acquire, data.X_test), 15)
            error, their_time, setting = min(
                (each for each in theirs if each[0] <= ours + 1e-12), key=lambda each: each[1]
            )
            what = f"{name}, delta {delta:g}: stop-error {100 * ours:.2f}%, speed-up {all_trees / our_time:.0f}x; "
            what += f"LightGBM, {setting}: {100 * error:.2f}%, {all_trees / their_time:.0f}x"
            lines.append(at_most(what, our_time / their_time, 1))
    report("500 trees on spambase: speed-up over all trees; measured: our time / time of LightGBM", lines)


def certified(n_splits: int = N_SPLITS, delta: float = 0.02, confidence: float = 0.9) -> None:
    """Count the random splits in which the stop-error of a certified model exceeds delta."""
    if missing("spambase"):
        return
    data, random = load("spambase"), np.random.default_rng(0)
    X = StandardScaler().fit_transform(np.log1p(data.X))
    predictor = LogisticRegression(max_iter=1000).fit(X[::5], data.y[::5])
    rest = np.flatnonzero(np.arange(len(X)) % 5)
    full, prices = predictor.predict(X), random.integers(1, 20, X.shape[1]).astype(float)
    lines = []
    for order in ("random", "cost"):
        errors, spends = [], []
        for seed in range(n_splits):
            train, held_out, test = np.split(random.permutation(rest), [600, 1600])
            model = AttentiveClassifier(
                predictor,
                costs=prices,
                boundary="certified",
                delta=delta,
                confidence=confidence,
                order=order,
                random_state=seed,
            )
            found = model.fit(X[train], data.y[train], calibration=X[held_out]).acquire(X[test])
            errors.append(np.mean(found.prediction != full[test]))
            spends.append(found.spend.mean() / prices.sum())
        exceeded, standard_error = np.mean(np.array(errors) > delta), np.sqrt((1 - confidence) * confidence / n_splits)
        what = (
            f"{order} order, {100 * np.mean(spends):.0f}% of total cost, mean stop-error {100 * np.mean(errors):.2f}%: "
        )
        lines.append(
            at_most(
                what + f"splits with stop-error > {100 * delta:g}%",
                100 * exceeded,
                100 * (1 - confidence + 2 * standard_error),
                "%",
            )
        )
    report(
        f"Certified, confidence {100 * confidence:g}%, spambase, {n_splits} splits; limit + 2 standard errors", lines
    )


@cache
def _digits() -> Bunch:
    data = load_mnist(digits=(2, 5))
    machine = SVC(gamma=0.02).fit(data.X[~data.test], data.y[~data.test])
    return _with_predictor(machine, data.X, data.y, ~data.test)


def _split(data: Bunch, predictor, convert) -> Bunch:
    """Hold out a third of the rows as test rows and fit the predictor on the others."""
    train = np.random.default_rng(0).permutation(len(data.y)) >= len(data.y) // 3
    X = convert(data.X.astype(float))
    return _with_predictor(predictor.fit(X[train], data.y[train]), X, data.y, train)


def _with_predictor(predictor, X, y, train) -> Bunch:
    full = predictor.predict(X[~train])
    return Bunch(predictor=predictor, X=X[train], y=y[train], X_test=X[~train], y_test=y[~train], full=full)


def _fitted(data: Bunch, **parameters) -> AttentiveClassifier:
    return AttentiveClassifier(data.predictor, **{"boundary": "curved"} | parameters).fit(data.X, data.y)


def _models(data: Bunch, **greedy) -> dict[str, list[AttentiveClassifier]]:
    """Return models with random orders as in the paper, with random orders and refitted weights, and greedy order."""
    return {
        "random, no refit": [_fitted(data, random_state=seed, **PAPER) for seed in range(N_DRAWS)],
        "random": [_fitted(data, order="random", random_state=seed) for seed in range(N_DRAWS)],
        "greedy": [_fitted(data, **greedy)],
    }


def _share(model: AttentiveClassifier, found) -> float:
    """Return the evaluated percentage of the terms."""
    return 100 * found.exit.mean() / model.checkpoints_[-1]


def _share_within(model: AttentiveClassifier, data: Bunch, curve=attentive_curve) -> float:
    """Return the smallest percentage of the terms with a stop-error of at most SMALL_STOP_ERROR."""
    return 100 * curve(model, data.X_test).terms_within(SMALL_STOP_ERROR) / model.checkpoints_[-1]


def _compare(title: str, data: Bunch, models: dict[str, list[AttentiveClassifier]]) -> None:
    """Print the share of evaluated terms at given stop-errors, for the first draw of each order.

    Report how often early stopping is not worse than truncation, for the worst draw of each order.
    """
    rows, lines = [], []
    for name, draws in models.items():
        not_worse = [_share_not_worse(model, data) for model in draws]
        rows.append((name, *_terms(draws[0], data), "/".join(f"{each:.3f}" for each in _precision(draws[0], data))))
        what = f"{name}: boundaries not worse than truncation to the same mean number of terms"
        lines.append(
            at_least(what + (f", worst of {len(draws)} draws" if len(draws) > 1 else ""), min(not_worse), 95, "%")
        )
    n_terms, accuracy = draws[0].checkpoints_[-1], 100 * np.mean(data.full == data.y_test)
    header = ("stop-error", *(f"{100 * e:g}%" for e in STOP_ERRORS), "precision")
    table(
        f"{title}: {n_terms} terms, accuracy {accuracy:.2f}%; evaluated % of terms, attentive / truncated", header, rows
    )
    print("precision: average precision of attentive (stop-error 5%) / truncated (same mean number of terms) / full")
    report(title, lines)


def _terms(model: AttentiveClassifier, data: Bunch) -> list[str]:
    attentive, truncated = (curve(model, data.X_test) for curve in (attentive_curve, truncated_curve))
    percent = 100 / model.checkpoints_[-1]
    return [
        f"{percent * attentive.terms_within(e):.1f} / {percent * truncated.terms_within(e):.1f}" for e in STOP_ERRORS
    ]


def _share_not_worse(model: AttentiveClassifier, data: Bunch) -> float:
    """Return the percentage of boundaries whose stop-error is at most that of truncation.

    Only boundaries with a stop-error below MAX_STOP_ERROR count.
    """
    attentive, truncated = (curve(model, data.X_test) for curve in (attentive_curve, truncated_curve))
    shown = attentive.stop_error < MAX_STOP_ERROR
    return 100 * np.mean(attentive.stop_error[shown] <= truncated.at(attentive.mean_terms[shown]) + 1e-12)


def _precision(model: AttentiveClassifier, data: Bunch) -> list[float]:
    """Return the average precision of attentive, truncated and full scores at a stop-error of 5%, as in Fig. 4, top."""
    attentive = attentive_curve(model, data.X_test)
    terms = attentive.terms_within(0.05)
    scores = model.partial_scores(data.X_test)
    nearest = np.abs(model.checkpoints_ - terms).argmin()
    stopped = _stopped_scores(model, scores, terms)
    return [average_precision_score(data.y_test, each) for each in (stopped, scores[:, nearest], scores[:, -1])]


def _stopped_scores(model: AttentiveClassifier, scores: np.ndarray, mean_terms: float) -> np.ndarray:
    """Return the scores at which rows stop. Bisection finds the boundary with the given mean number of terms."""
    ratios = np.abs(scores) / np.maximum(model.deviations_, 1e-300)
    ratios[:, -1] = np.inf
    lax, strict = 0.0, 1e3
    for _ in range(60):
        factor = (lax + strict) / 2
        stop = np.argmax(ratios > factor, axis=1)
        lax, strict = (factor, strict) if model.checkpoints_[stop].mean() < mean_terms else (lax, factor)
    return scores[np.arange(len(scores)), stop]


if __name__ == "__main__":
    main()
