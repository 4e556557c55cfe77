"""Stop-errors of the default boundary and of the normal boundary on new rows, over random splits.

The stop-error is the share of new rows whose answer differs from the answer of the full predictor. The boundaries are
learned from the training rows only.
To run it with fewer splits: ``python -c "import benchmarks.stop_errors as b; b.main(3)"``.
"""

from collections.abc import Callable

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from benchmarks.problems import missing
from benchmarks.report import at_most, report, table
from thrifty.datasets import load
from thrifty.models.rows import Rows
from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.models.stopping.boundaries import curved_factor
from thrifty.models.stopping.conformal import conformal_factor
from thrifty.models.stopping.conformal_fit import cross_fitted_factors

DELTAS = (0.001, 0.01, 0.05)
N_SPLITS = 20
TRAIN_SHARE = 2 / 3
PREDICTORS = {
    "SVC, RBF": SVC(),
    "SVC, RBF, standardised": make_pipeline(StandardScaler(), SVC()),
    "gradient boosting": GradientBoostingClassifier(random_state=0),
    "AdaBoost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=100, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
}


def main(n_splits: int = N_SPLITS) -> None:
    X, y = load_digits(return_X_y=True)
    compare("digits, odd or even", X, y % 2, n_splits)
    if not missing("spambase"):
        spam = load("spambase")
        compare("spambase", np.log1p(spam.X), spam.y, n_splits)


def compare(title: str, X: np.ndarray, y: np.ndarray, n_splits: int) -> None:
    """Print mean and worst stop-errors over the splits, and the share of evaluated terms."""
    rows, lines = [], []
    for name, predictor in PREDICTORS.items():
        found = np.array([_split_results(predictor, X, y, seed) for seed in range(n_splits)])
        n_new = len(y) - int(TRAIN_SHARE * len(y))
        for k, delta in enumerate(DELTAS):
            (normal, normal_terms), (ours, our_terms) = found[:, k].transpose(1, 2, 0)
            shown = [f"{100 * each.mean():.2f} / {100 * each.max():.2f}" for each in (normal, ours)]
            terms = [f"{100 * each.mean():.1f}" for each in (normal_terms, our_terms)]
            rows.append((name, f"{100 * delta:g}", *shown, *terms, f"{our_terms.mean() / normal_terms.mean():.2f}"))
            # Test rows of different splits overlap, so their errors are counted as those of one split only.
            limit = delta + 2 * np.sqrt(delta * (1 - delta) / n_new)
            lines.append(
                at_most(f"{name}, delta {100 * delta:g}%: mean stop-error", 100 * ours.mean(), 100 * limit, "%")
            )
    header = ("predictor", "delta %", "normal: mean / worst %", "conformal", "normal: terms %", "conformal", "ratio")
    table(f"{title}: {n_splits} splits, {n_new} new rows each", header, rows)
    report(f"{title}: limit is delta + 2 standard errors", lines)


def _split_results(predictor, X: np.ndarray, y: np.ndarray, seed: int) -> list[list[tuple[float, float]]]:
    """Return (stop-error, share of terms) of the normal and the conformal boundary for each delta."""
    train, test = np.split(np.random.default_rng(seed).permutation(len(y)), [int(TRAIN_SHARE * len(y))])
    model = AttentiveClassifier(clone(predictor), boundary="curved").fit(X[train], y[train])
    critical = cross_fitted_factors(model, Rows(X[train], y[train], np.ones(len(train))))
    measure = _measure(model, X[test])
    return [[measure(curved_factor(delta)), measure(conformal_factor(*critical, delta))] for delta in DELTAS]


def _measure(model: AttentiveClassifier, X: np.ndarray) -> Callable[[float], tuple[float, float]]:
    ratios, errors = model._ratios_and_errors(model.chain_, X)

    def measure(factor: float) -> tuple[float, float]:
        stop = np.argmax(ratios > factor, axis=1) if np.isfinite(factor) else np.full(len(ratios), -1)
        return float(errors[np.arange(len(stop)), stop].mean()), float(
            model.checkpoints_[stop].mean() / model.checkpoints_[-1]
        )

    return measure


if __name__ == "__main__":
    main()
