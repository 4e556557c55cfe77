"""Greedy Miser and LightGBM: test loss and speed with free features, and cost curves with prices.

All models are charged in the same way: a row pays for the features that its paths through the trees need. Models of
LightGBM are converted with ``Forest.from_model(...).with_costs(...)``.

CEGB is LightGBM's cost-effective gradient boosting: penalties on the use of features.
"""

from time import perf_counter

import lightgbm
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_squared_error, roc_auc_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from benchmarks.problems import YAHOO_SIZE, correlated_regression, missing
from benchmarks.report import at_least, at_most, report, table
from thrifty import CostModel, EarlyExitRanker, Forest, GreedyMiserClassifier, GreedyMiserRanker, GreedyMiserRegressor
from thrifty.costs import Ledger
from thrifty.datasets import load_covtype, load_heart, load_mq2008, load_mslr, load_spambase, load_thyroid
from thrifty.metrics import CostCurve, area_under_cost_curve, ndcg_at_k
from thrifty.models.growing.bag import Bag
from thrifty.models.growing.binning import Bins
from thrifty.models.growing.growth import Grower
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import NoPayments

TREES = {"n_estimators": 200, "learning_rate": 0.1, "max_depth": 4, "min_samples_leaf": 20}
LIGHTGBM = {
    "n_estimators": 200,
    "learning_rate": 0.1,
    "max_depth": 4,
    "num_leaves": 16,
    "min_child_samples": 20,
    "max_bin": 255,
    "n_jobs": 2,
    "verbose": -1,
}


def main() -> None:
    speed()
    small_trees()
    same_loss()
    rising_prices()
    copies_and_subsamples()
    spambase()
    bundles()
    ranking()


# 1. Free features: speed and test loss


def speed() -> None:
    X, y = correlated_regression(YAHOO_SIZE[0], 200)
    labels = (y > np.median(y)).astype(int)
    lines = []
    for name, target, ours, theirs, scikit_learn in (
        ("squared loss", y, GreedyMiserRegressor, lightgbm.LGBMRegressor, HistGradientBoostingRegressor),
        ("log-loss", labels, GreedyMiserClassifier, lightgbm.LGBMClassifier, HistGradientBoostingClassifier),
    ):
        ours(cost_weight=0, **{**TREES, "n_estimators": 2}).fit(X[:2000], target[:2000])  # compile
        model, time = _timed(ours(cost_weight=0, **TREES), X, target)
        booster, booster_time = _timed(theirs(**LIGHTGBM), X, target)
        hist = scikit_learn(
            max_iter=200, max_depth=4, max_leaf_nodes=16, max_bins=255, early_stopping=False, l2_regularization=0
        )
        hist_time = _timed(hist, X, target)[1]
        lines += [
            at_most(f"{name}: training time / LightGBM's", time / booster_time, 0.9),
            at_most(f"{name}: training time / scikit-learn's", time / hist_time, 0.7),
            at_most(f"{name}: time of batch prediction / LightGBM's", _prediction_ratio(model, booster, X), 1.0),
        ]
        row = ours(cost_weight=1e-6, charge="row", **TREES)
        lines.append(
            at_most(
                f"{name}: training time with charge='row' / LightGBM's",
                _timed(row, X, target)[1] / booster_time,
                2.0,
            )
        )
    report(f"Boosting, {len(X)} x 200, 200 trees of depth 4, two threads", lines)


def _timed(model, X, y, **rest):
    start = perf_counter()
    model.fit(X, y, **rest)
    return model, perf_counter() - start


def _prediction_ratio(model, booster, X, repeats=3):
    times = []
    for predict in (model.predict, lambda rows: booster.predict(rows, num_threads=2)):
        best = np.inf
        for _ in range(repeats):
            start = perf_counter()
            predict(X)
            best = min(best, perf_counter() - start)
        times.append(best)
    return times[0] / times[1]


def small_trees(n_rows=2000, n_features=16, n_trees=50, repeats=7) -> None:
    """Grow trees of free features in one call of a kernel, and node by node."""
    X, y = correlated_regression(n_rows, n_features)
    weight, rows, features = np.ones(n_rows), np.arange(n_rows, dtype=np.uint32), np.arange(n_features)
    bins = Bins.of(X, weight, 64, np.zeros(n_features, dtype=bool), np.random.default_rng(0))
    payments, limits = NoPayments(n_features), Limits(None, 31, 20.0, 1.0)
    grower = Grower(bins.codes(X), bins, payments, limits, constant_hessian=True, all_weight=float(n_rows))
    ways = grower._free.grow, lambda bag: grower._priced.grow(bag, payments)
    best = np.full(2, np.inf)
    for _ in range(repeats):
        for k, grow in enumerate(ways):
            start = perf_counter()
            for _ in range(n_trees):
                grow(Bag(y.mean() - y, weight, weight, rows.copy(), rows[:0].copy(), features, 1))
            best[k] = min(best[k], perf_counter() - start)
    what = f"time in one call / node by node, which takes {best[1] / n_trees * 1e6:.0f} microseconds"
    report(f"Growth of trees of 31 leaves, {n_rows} x {n_features}", [at_most(what, best[0] / best[1], 0.5)])


def same_loss() -> None:
    lines = []
    for name, splits, loss in (
        ("covtype, seven classes", _covtype_splits(), "log"),
        ("spambase, ten folds, three repetitions", _spambase_splits(), "log"),
        ("correlated regression", _regression_splits(), "squared"),
    ):
        if losses := [_both_losses(loss, *split) for split in splits]:
            ours, theirs = np.mean(losses, axis=0)
            lines.append(at_most(f"{name}: test loss / LightGBM's, which is {theirs:.4g}", ours / theirs, 1.005))
    lines += list(_ranking_loss())
    report("Boosting with free features: test loss relative to LightGBM, same sizes of trees", lines)


def _both_losses(loss, X, X_test, y, y_test):
    if loss == "squared":
        models = GreedyMiserRegressor(cost_weight=0, **TREES), lightgbm.LGBMRegressor(**LIGHTGBM)
        return [mean_squared_error(y_test, model.fit(X, y).predict(X_test)) for model in models]
    models = GreedyMiserClassifier(cost_weight=0, **TREES), lightgbm.LGBMClassifier(**LIGHTGBM)
    return [log_loss(y_test, model.fit(X, y).predict_proba(X_test)) for model in models]


def _covtype_splits():
    if not missing("covtype"):
        data = load_covtype()
        rows = np.random.default_rng(0).permutation(len(data.y))[:100_000]
        yield train_test_split(data.X[rows], data.y[rows], random_state=0)


def _spambase_splits():
    if not missing("spambase"):
        data = load_spambase()
        for seed in range(3):
            for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(data.X, data.y):
                yield data.X[train], data.X[test], data.y[train], data.y[test]


def _regression_splits():
    yield train_test_split(*correlated_regression(40_000, 50), random_state=0)


def _ranking_loss():
    if missing("mq2008"):
        return
    ndcg = []
    for fold in range(1, 6):
        data = load_mq2008(fold=fold)
        train = ~data.test
        models = _ranker(data, train, cost_weight=0), _lightgbm_ranker(data, train)
        ndcg.append([_ndcg(data, data.test, model.predict(data.X[data.test])) for model in models])
    ours, theirs = np.mean(ndcg, axis=0)
    yield at_least(f"MQ2008, five folds: mean NDCG@5 / LightGBM's, which is {theirs:.4f}", ours / theirs, 0.995)


def _ranker(data, train, **options):
    return GreedyMiserRanker(costs=data.costs, **{**TREES, **options}).fit(
        data.X[train], data.y[train], qid=data.qid[train]
    )


def _lightgbm_ranker(data, train):
    order = np.flatnonzero(train)[np.argsort(data.qid[train], kind="stable")]
    sizes = np.unique(data.qid[order], return_counts=True)[1]
    return lightgbm.LGBMRanker(**LIGHTGBM).fit(data.X[order], data.y[order], group=sizes)


def _ndcg(data, rows, scores):
    return ndcg_at_k(data.y[rows], scores, qid=data.qid[rows], k=5)


# 2. Effect of prices, of copied rows and of subsamples


def rising_prices() -> None:
    """Count the splits on feature A while its price rises.

    In half of the rows the target depends on A only. In the other half B has slightly more influence than A.
    """
    random = np.random.default_rng(0)
    X = random.normal(size=(4000, 3))
    region, a, b = X.T
    y = np.where(region > 0, 10 + 10 * np.sign(a), -10 + np.sign(a) + 1.1 * np.sign(b))
    rows = []
    for price in (0.0, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0):
        ours = GreedyMiserRegressor(costs=[0.0, price, 0.0], cost_weight=1e-3, n_estimators=1, max_depth=2).fit(X, y)
        penalties = [0.0, len(X) * price, 0.0]
        options = {**LIGHTGBM, "n_estimators": 1, "max_depth": 2, "cegb_penalty_feature_coupled": penalties}
        theirs = Forest.from_model(lightgbm.LGBMRegressor(**options).fit(X, y))
        rows.append((f"{price:g}", str(_uses(ours.forest_, 1)), str(_uses(theirs, 1))))
    table("Number of splits on feature A in a tree of four leaves", ("price of A", "Greedy Miser", "CEGB"), rows)
    counts = np.array([[int(cell) for cell in row[1:]] for row in rows])
    ours, theirs = np.diff(counts, axis=0).max(axis=0)
    what = f"largest increase of the number of splits on A (CEGB: {theirs})"
    report("Feature A is not used more often as its price rises", [at_most(what, ours, 0, "")])


def _uses(forest, feature):
    return int((forest.feature == feature).sum())


def copies_and_subsamples() -> None:
    X, y = correlated_regression(3000, 30)
    options = {"cost_weight": 1e-3, "n_estimators": 50, "min_samples_leaf": 20}
    once = GreedyMiserRegressor(**options).fit(X, y)
    options["min_samples_leaf"] = 80
    four_times = GreedyMiserRegressor(**options).fit(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    same = np.array_equal(once.forest_.feature, four_times.forest_.feature)
    lines = [at_least("four copies of every row give the same splits (1: yes)", float(same), 1, "")]
    problems = {"regression": (GreedyMiserRegressor, X, y, 1e-3)}
    if not missing("spambase"):
        problems["spambase"] = (GreedyMiserClassifier, load_spambase().X, load_spambase().y, 3e-3)
    for name, problem in problems.items():
        spends = np.array([_spend_of_subsamples(*problem, share) for share in (1.0, 0.8, 0.6, 0.45, 0.3)])
        what = f"{name}, charge='row', subsample 0.3 to 1: largest relative change of the spend {spends[0]:.2f}"
        lines.append(at_most(what, np.abs(spends / spends[0] - 1).max(), 0.2, ""))
    report("Copied rows and subsamples", lines)


def _spend_of_subsamples(estimator, X, y, cost_weight, share):
    """Return the mean spend over three random states."""
    options = {"charge": "row", "cost_weight": cost_weight, "subsample": share}
    return np.mean([estimator(random_state=seed, **options).fit(X, y).spend(X).mean() for seed in range(3)])


# 3. Spambase, where each feature costs 1


def spambase() -> None:
    if missing("spambase"):
        return
    data, limits = load_spambase(), (4, 5, 9, 12)
    scores = np.array([_spambase_scores(data, limits, seed) for seed in range(5)]).mean(axis=0)
    lines = [
        at_least(f"test AUC with at most {limit} features / CEGB's, which is {theirs:.4f}", ours / theirs, 1.0)
        for limit, ours, theirs in zip(limits, *scores, strict=True)
    ]
    report("Spambase, mean of five 60/20/20 splits; models are chosen by their AUC on validation rows", lines)


def _spambase_scores(data, limits, seed):
    X, rest, y, y_rest = train_test_split(data.X, data.y, test_size=0.4, random_state=seed, stratify=data.y)
    held, test, y_held, y_test = train_test_split(rest, y_rest, test_size=0.5, random_state=seed, stratify=y_rest)
    ours, theirs = [], []
    for limit in limits:
        for cost_weight in np.geomspace(3e-3, 1e-4, 10):
            model = GreedyMiserClassifier(
                cost_weight=cost_weight, budget=limit, n_estimators=300, early_stopping=True, scoring=roc_auc_score
            ).fit(X, y, validation=(held, y_held))
            ours.append((len(model.features_), *_aucs(model.decision_function, held, y_held, test, y_test)))
    for penalty in np.geomspace(1000, 2, 32):
        options = {**LIGHTGBM, "n_estimators": 300, "cegb_penalty_feature_coupled": [penalty] * X.shape[1]}
        stop = lightgbm.early_stopping(20, verbose=False)
        model = lightgbm.LGBMClassifier(**options)
        model.fit(X, y, eval_X=held, eval_y=y_held, eval_metric="auc", callbacks=[stop])
        used = (model.booster_.feature_importance(iteration=model.best_iteration_) > 0).sum()
        theirs.append((used, *_aucs(lambda Z, model=model: model.predict_proba(Z)[:, 1], held, y_held, test, y_test)))
    return [[_best_within(points, limit) for limit in limits] for points in (ours, theirs)]


def _aucs(score, held, y_held, test, y_test):
    return roc_auc_score(y_held, score(held)), roc_auc_score(y_test, score(test))


def _best_within(points, limit):
    """Return the test score of the point with the best validation score among those with at most `limit` features."""
    return max(((valid, test) for used, valid, test in points if used <= limit), default=(0.5, 0.5))[1]


# 4. Prices with bundles


SHARES = (0.1, 0.2, 0.4, 1.0)  # mean spend / cost of all features


def bundles() -> None:
    rows = list(_bundled("8 bundles of 5 among 40", *_panels()))
    rows += [] if missing("thyroid") else list(_bundled("thyroid", *_thyroid()))
    rows += list(_bundled("heart, five folds, two repetitions", *_heart()))
    header = ("", "", *(f"at {share:.0%}" for share in SHARES), "mean")
    table("Prices with bundles: test error within a share of the cost of all features", header, rows)


def _bundled(name, X, y, costs, splits):
    baseline = max(np.mean(y == c) for c in np.unique(y))
    for title, contender in CONTENDERS.items():
        points = np.mean([contender(X[train], y[train], X[test], y[test], costs) for train, test in splits], axis=0)
        curve = CostCurve(points[:, 0], points[:, 1])
        within = [max(curve.score[curve.spend <= share * costs.total], default=baseline) for share in SHARES]
        mean = area_under_cost_curve(curve, limits=(0, costs.total), baseline=baseline)
        yield name, title, *(f"{1 - score:.4f}" for score in (*within, mean))
        name = ""


def _miser_charged_by_row(X, y, X_test, y_test, costs):
    return _miser(X, y, X_test, y_test, costs, charge="row")


def _miser_with_lookahead(X, y, X_test, y_test, costs):
    return _miser(X, y, X_test, y_test, costs, lookahead=True)


def _miser(X, y, X_test, y_test, costs, **options):
    weights = [*np.geomspace(0.3, 3e-5, 16) / costs.total, 0.0]
    models = GreedyMiserClassifier(costs=costs, n_estimators=100, **options).path(X, y, cost_weights=weights)
    return [(model.spend(X_test).mean(), model.score(X_test, y_test)) for model in models]


def _coupled(X, y, X_test, y_test, costs, kind="coupled", scale=1.0):
    prices = Ledger(costs).prices  # of each feature if it is acquired alone, because CEGB does not support bundles
    points = []
    for weight in [*np.geomspace(3, 3e-4, 16) / costs.total * len(X) * scale, 0.0]:
        options = {**LIGHTGBM, "n_estimators": 100, f"cegb_penalty_feature_{kind}": (weight * prices).tolist()}
        model = Forest.from_model(lightgbm.LGBMClassifier(**options).fit(X, y)).with_costs(costs)
        points.append((model.spend(X_test).mean(), model.score(X_test, y_test)))
    return points


def _lazy(X, y, X_test, y_test, costs):
    return _coupled(X, y, X_test, y_test, costs, "lazy", 1 / len(X))


CONTENDERS = {
    "Greedy Miser": _miser,
    "Greedy Miser, charge='row'": _miser_charged_by_row,
    "Greedy Miser, lookahead=True": _miser_with_lookahead,
    "CEGB, coupled": _coupled,
    "CEGB, lazy": _lazy,
}


def _panels():
    """Return data with eight hidden quantities and eight panels of five noisy measurements each.

    Each quantity is measured in five panels. The label depends on five of the quantities.
    """
    random = np.random.default_rng(0)
    hidden = random.normal(size=(6000, 8))
    panel, member = np.divmod(np.arange(40), 5)
    X = hidden[:, (panel + member) % 8] + random.uniform(0.2, 1.2, size=40) * random.normal(size=(6000, 40))
    y = (hidden[:, 0] + hidden[:, 1] + np.sign(hidden[:, 2]) * hidden[:, 3] + 0.5 * hidden[:, 4] > 0).astype(int)
    panels = {f"panel {k}": (tuple(np.flatnonzero(panel == k).tolist()), 5.0) for k in range(8)}
    return X, y, CostModel(np.full(40, 0.2), bundles=panels), [(np.arange(3000), np.arange(3000, 6000))]


def _thyroid():
    data = load_thyroid()
    return data.X, data.y, data.costs, [(np.flatnonzero(~data.test), np.flatnonzero(data.test))]


def _heart():
    data = load_heart()
    folds = [StratifiedKFold(5, shuffle=True, random_state=seed).split(data.X, data.y) for seed in range(2)]
    return data.X, data.y, data.costs, [split for fold in folds for split in fold]


# 5. Ranking of web search results


def ranking() -> None:
    for name, load in (("mq2008", load_mq2008), ("mslr", load_mslr)):
        if not missing(name):
            _ranking(name, load())


def _ranking(name, data):
    train = ~(data.test | data.validation)
    held = data.X[data.validation], data.y[data.validation], data.qid[data.validation]
    options = {"n_estimators": 300, "early_stopping": True, "n_iter_no_change": 40, "scoring": "ndcg@5"}
    template = GreedyMiserRanker(costs=data.costs, **{**TREES, **options})
    full = _fitted(template.set_params(cost_weight=0), data, train, held)
    rows = [_point("all features, cost_weight=0", full, data)]
    weights = np.geomspace(1e-2, 1e-6, 16)
    for charge in ("ensemble", "row"):
        template.set_params(charge=charge)
        models = template.path(data.X[train], data.y[train], qid=data.qid[train], validation=held, cost_weights=weights)
        rows += [_point(f"Greedy Miser, charge={charge!r}, {m.cost_weight:.1e}", m, data) for m in models]
    for n_trees in (5, 20, 60):
        prefix = GreedyMiserRanker(costs=data.costs, cost_weight=0, **{**TREES, "n_estimators": n_trees})
        rows.append(
            _point(f"stage-wise regression (cost_weight=0), {n_trees} trees", _fitted(prefix, data, train, None), data)
        )
    for s in (0.2, 0.5, 1.0):
        rows.append(
            _point(
                f"early exit, s={s:g}", _fitted(EarlyExitRanker(full, costs=data.costs, s=s), data, train, None), data
            )
        )
    table(f"{name}: NDCG@5 and mean spend", ("", "spend", "validation NDCG@5", "test NDCG@5", "features per row"), rows)
    _report_cheap_model(name, rows)


def _fitted(model, data, train, held):
    rest = {} if held is None else {"validation": held}
    return model.fit(data.X[train], data.y[train], qid=data.qid[train], **rest)


def _point(what, model, data):
    held, test = (_answers(model, data, rows) for rows in (data.validation, data.test))
    n_features = f"{test.acquired.sum(axis=1).mean():.1f}"
    scores = (_ndcg(data, data.validation, held.prediction), _ndcg(data, data.test, test.prediction))
    return what, f"{test.spend.mean():.1f}", *(f"{score:.4f}" for score in scores), n_features


def _answers(model, data, rows):
    by_query = {"qid": data.qid[rows]} if isinstance(model, EarlyExitRanker) else {}
    return model.acquire(data.X[rows], **by_query)


def _report_cheap_model(name, rows):
    """Choose the model with the best validation score within a tenth of the full spend, and report its test score."""
    spend, held, test = (np.array([float(row[column]) for row in rows]) for column in (1, 2, 3))
    cheap = np.flatnonzero(spend <= 0.1 * spend[0])
    chosen = cheap[np.argmax(held[cheap])]
    lines = [
        at_most("spend / spend with cost_weight=0", spend[chosen] / spend[0], 0.1, ""),
        at_least("test NDCG@5 - test NDCG@5 with cost_weight=0", test[chosen] - test[0], -0.005, ""),
    ]
    report(f"{name}: best validation score within a tenth of the spend with cost_weight=0", lines)


if __name__ == "__main__":
    main()
