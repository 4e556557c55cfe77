"""Attentive prediction: the experiments of Pelossof and Ying (2010) in kind, and the time that stopping saves.

``python -c "import benchmarks.stopping as b; b.mnist()"`` runs one of the tables alone.
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
from thrifty.models.stopping.simulation import simulate_stst

SHOWN = 0.3  # stop-errors up to which the paper finds attention better than truncation
LOST = 0.001  # a tenth of a point; accuracy can fall by no more than the stop-error
GREEDY = {"delta": 0.001}
PAPER = {"order": "random", "refit": False, "block_size": 4}  # terms in random order, as they are
STOP_ERRORS = (0.0, LOST, 0.01, 0.05, 0.2)
N_DRAWS = 5  # of random orders
N_SPLITS = 200


def main() -> None:
    simulation()
    mnist()
    text()
    wide()
    speed()
    ensemble()
    certified()


def simulation() -> None:
    """Fig. 3: errors are rarer than asked for, and the number of terms grows like the square root of n."""
    found = simulate_stst((0.01, 0.05, 0.1, 0.2, 0.3, 0.5), (2048, 4096, 8192, 16384, 32768), random_state=0)
    rows = [
        (f"{n}", *(f"{error:.3f} / {terms:.0f}" for error, terms in zip(errors, mean, strict=True)))
        for n, errors, mean in zip(found.n_terms, found.stop_error, found.mean_terms, strict=True)
    ]
    table("Constant boundary: stop-error / mean terms", ("n", *(f"delta {d:g}" for d in found.delta)), rows)
    report(
        "Simulation of Fig. 3",
        [
            at_most("largest ratio of actual to required error", (found.stop_error / found.delta).max(), 1.0, ""),
            at_least("smallest log-log slope of mean terms over n", found.growth.min(), 0.4, ""),
            at_most("largest", found.growth.max(), 0.6, ""),
        ],
    )


def mnist() -> None:
    """Fig. 4 with an RBF machine."""
    if missing("mnist"):
        return
    data = _digits()
    models = _three(data, **GREEDY)
    _compare("MNIST 2 against 5, RBF machine", data, models)
    plain, refitted = ([_share_within(each, data, LOST) for each in models[key]] for key in ("random, plain", "random"))
    (greedy,) = models["greedy"]
    found = greedy.acquire(data.X_test)
    lost = np.mean(data.full == data.y_test) - np.mean(found.prediction == data.y_test)
    report(
        "MNIST at a tenth of a point lost",
        [
            at_most(f"random order, plain sums, the luckiest of {N_DRAWS} draws: terms", min(plain), 60, "%"),
            at_most("their median", np.median(plain), 60, "%"),
            at_most("random order, refitted, the unluckiest draw: terms", max(refitted), 60, "%"),
            at_most("greedy, threshold chosen on test rows: terms", _share_within(greedy, data, LOST), 4, "%"),
            at_most("greedy with delta 0.001 from training rows: terms", _share(greedy, found), 4, "%"),
            at_most("its loss of accuracy", 100 * lost, 0.1, "points"),
        ],
    )


def text() -> None:
    """Fig. 4 with a linear machine on sparse text."""
    for name in ("basehock", "pcmac"):
        if not missing(name):
            data = _split(load(name), LinearSVC(C=0.01, max_iter=20_000, random_state=0), csr_matrix)
            _compare(f"{name}, sparse text, linear machine", data, _three(data))


def wide() -> None:
    """Fig. 4 on wide dense rows: the first half of the spoken alphabet against the second."""
    if missing("isolet"):
        return
    isolet = load("isolet")
    data = _split(Bunch(X=isolet.X, y=isolet.y >= 13), LinearSVC(max_iter=20_000, random_state=0), np.ascontiguousarray)
    _compare("isolet, linear machine", data, _three(data))


def speed() -> None:
    """The greedy point of `mnist` against evaluating the same machine in full."""
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
        f"MNIST machine of {len(vectors)} support vectors, {len(rows)} rows",
        [
            at_least("faster than the full evaluation by BLAS", 1 / ratio(acquire, by_blas, 9), 5),
            at_least(
                "faster than SVC.decision_function", 1 / ratio(acquire, partial(machine.decision_function, rows)), 40
            ),
            at_most("all terms (delta 0), in times of BLAS", ratio(partial(whole.acquire, rows), by_blas), 2),
        ],
    )


def ensemble() -> None:
    """500 trees against the early stopping of LightGBM, at no more disagreement than it has."""
    if missing("spambase"):
        return
    import lightgbm

    booster = lightgbm.LGBMClassifier(n_estimators=500, n_jobs=1, verbose=-1, random_state=0)
    data = _split(load("spambase"), booster, np.ascontiguousarray)
    predict = partial(data.predictor.booster_.predict, data.X_test, raw_score=True, num_threads=1)
    full = predict()
    theirs = []
    for margin in (2, 2.5, 3, 3.5, 4, 5, 6, 8, 12):
        for often in (5, 10, 20):
            early = partial(predict, pred_early_stop=True, pred_early_stop_margin=margin, pred_early_stop_freq=often)
            theirs.append((np.mean((early() > 0) != (full > 0)), seconds(early, 15), f"margin {margin}, every {often}"))
    everything, lines = seconds(predict, 5), []
    for name, order in (("as boosted", np.arange(500)), ("greedy", "greedy")):
        for delta in (0.01, 0.003, 0.001):
            model = _fitted(data, order=order, delta=delta)
            ours = np.mean((model.decision_function(data.X_test) > 0) != (full > 0))
            own = seconds(partial(model.acquire, data.X_test), 15)
            error, best, how = min((each for each in theirs if each[0] <= ours + 1e-12), key=lambda each: each[1])
            what = f"{name}, delta {delta:g}: {100 * ours:.2f}%, {everything / own:.0f}x faster than all trees; "
            what += f"LightGBM, {how}: {100 * error:.2f}%, {everything / best:.0f}x; times of it"
            lines.append(at_most(what, own / best, 1))
    report("500 trees on spambase, disagreement with all of them", lines)


def certified(n_splits: int = N_SPLITS, delta: float = 0.02, confidence: float = 0.9) -> None:
    """How often a certificate does not hold, over random splits of a real set."""
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
        exceeded, sampling = np.mean(np.array(errors) > delta), np.sqrt((1 - confidence) * confidence / n_splits)
        what = f"{order} order, {100 * np.mean(spends):.0f}% spent, mean stop-error {100 * np.mean(errors):.2f}%: "
        lines.append(
            at_most(what + f"splits above {100 * delta:g}%", 100 * exceeded, 100 * (1 - confidence + 2 * sampling), "%")
        )
    report(f"Certified at {100 * confidence:g}%, spambase, {n_splits} splits; the bar has two standard errors", lines)


@cache
def _digits() -> Bunch:
    data = load_mnist(digits=(2, 5))
    machine = SVC(gamma=0.02).fit(data.X[~data.test], data.y[~data.test])
    return _with_predictor(machine, data.X, data.y, ~data.test)


def _split(data: Bunch, predictor, form) -> Bunch:
    """Hold out a third of the rows and fit a predictor to the others."""
    train = np.random.default_rng(0).permutation(len(data.y)) >= len(data.y) // 3
    X = form(data.X.astype(float))
    return _with_predictor(predictor.fit(X[train], data.y[train]), X, data.y, train)


def _with_predictor(predictor, X, y, train) -> Bunch:
    full = predictor.predict(X[~train])
    return Bunch(predictor=predictor, X=X[train], y=y[train], X_test=X[~train], y_test=y[~train], full=full)


def _fitted(data: Bunch, **parameters) -> AttentiveClassifier:
    return AttentiveClassifier(data.predictor, **parameters).fit(data.X, data.y)


def _three(data: Bunch, **greedy) -> dict[str, list[AttentiveClassifier]]:
    """Return the paper's way, several draws of it; the same order with refitted weights; and the greedy order."""
    return {
        "random, plain": [_fitted(data, random_state=seed, **PAPER) for seed in range(N_DRAWS)],
        "random": [_fitted(data, order="random", random_state=seed) for seed in range(N_DRAWS)],
        "greedy": [_fitted(data, **greedy)],
    }


def _share(model: AttentiveClassifier, found) -> float:
    return 100 * found.exit.mean() / model.checkpoints_[-1]


def _share_within(model: AttentiveClassifier, data: Bunch, stop_error: float) -> float:
    return 100 * attentive_curve(model, data.X_test).terms_within(stop_error) / model.checkpoints_[-1]


def _compare(title: str, data: Bunch, models: dict[str, list[AttentiveClassifier]]) -> None:
    """Print terms at given stop-errors for the first draw of each order, and the worst draw against truncation."""
    rows, lines = [], []
    for name, draws in models.items():
        better = [_better(model, data) for model in draws]
        rows.append((name, *_terms(draws[0], data), "/".join(f"{each:.3f}" for each in _precision(draws[0], data))))
        what = f"{name}: boundaries no worse than truncation to as many terms, the worst of {len(draws)} draws"
        lines.append(at_least(what if len(draws) > 1 else what.split(", the")[0], min(better), 95, "%"))
    n_terms, accuracy = draws[0].checkpoints_[-1], 100 * np.mean(data.full == data.y_test)
    header = ("terms at", *(f"{100 * e:g}%" for e in STOP_ERRORS), "precision")
    table(f"{title}: {n_terms} terms, accuracy {accuracy:.2f}%; attentive / truncated, per cent", header, rows)
    print("precision: average, at a stop-error of 5%: attentive, truncated to as many terms, full")
    report(title, lines)


def _terms(model: AttentiveClassifier, data: Bunch) -> list[str]:
    attentive, truncated = (curve(model, data.X_test) for curve in (attentive_curve, truncated_curve))
    part = 100 / model.checkpoints_[-1]
    return [f"{part * attentive.terms_within(e):.1f} / {part * truncated.terms_within(e):.1f}" for e in STOP_ERRORS]


def _better(model: AttentiveClassifier, data: Bunch) -> float:
    """Return the per cent of boundaries, of those with stop-errors worth showing, that truncation does not beat."""
    attentive, truncated = (curve(model, data.X_test) for curve in (attentive_curve, truncated_curve))
    shown = attentive.stop_error < SHOWN
    return 100 * np.mean(attentive.stop_error[shown] <= truncated.at(attentive.mean_terms[shown]) + 1e-12)


def _precision(model: AttentiveClassifier, data: Bunch) -> list[float]:
    """Average precision where about one row in twenty is answered otherwise, as in the upper row of Fig. 4."""
    attentive = attentive_curve(model, data.X_test)
    terms = attentive.terms_within(0.05)
    scores = model.partial_scores(data.X_test)
    nearest = np.abs(model.checkpoints_ - terms).argmin()
    stopped = _stopped_scores(model, scores, terms)
    return [average_precision_score(data.y_test, each) for each in (stopped, scores[:, nearest], scores[:, -1])]


def _stopped_scores(model: AttentiveClassifier, scores: np.ndarray, mean_terms: float) -> np.ndarray:
    """Return the scores of rows that stop after so many terms on average, by bisection of the boundary."""
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
