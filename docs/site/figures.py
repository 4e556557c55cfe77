"""Draw the figures of the documentation: python docs/site/figures.py [NAME ...]

Each figure comes from data that the package has, so that anyone can draw it again. They are SVG files in docs/figures.
"""

import sys
from pathlib import Path

import matplotlib
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from sklearn.utils import shuffle

from thrifty import (
    ASTCClassifier,
    AttentiveClassifier,
    BudgetSearchCV,
    CSTCRegressor,
    DynamicSelectionClassifier,
    EarlyExitRanker,
    GreedyMiserRanker,
    StaticSelectionClassifier,
    ThriftyClassifier,
    simulate_stst,
)
from thrifty.bench.reports.race_figures import draw_ranks
from thrifty.bench.reproductions import astc_figure_3, cstc_figure_7, cstc_figure_11, dynamic_figure_1_curves
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.problems import tabular
from thrifty.bench.results import Results
from thrifty.bench.runner import compute
from thrifty.bench.scaling.growth import draw_growth
from thrifty.bench.summary import committed, committed_ranking
from thrifty.datasets import load_heart, make_ltr, make_quadrants
from thrifty.metrics import cost_curve, ndcg_at_k
from thrifty.plots import CostCurveDisplay, LearningCurveDisplay, StopErrorDisplay, TreeDisplay
from thrifty.plots.axes import style_axes

FOLDER = Path(__file__).parents[1] / "figures"


def astc(figure):
    """Draw the tree of the page on sessions."""
    heart = load_heart()
    model = ASTCClassifier(costs=heart.costs, max_depth=3, node_budget=[4, 10, 100], overflow="skip")
    TreeDisplay.from_estimator(model.fit(heart.X[:200], heart.y[:200]), heart.X[200:], ax=figure.subplots())


def cstc(figure):
    """Draw the tree of Figure 5 of Xu et al. (2014)."""
    data = make_quadrants(2000, random_state=0, label_means=(27, 9, -9, -27))
    model = CSTCRegressor(costs=data.costs, max_depth=3, cost_weight=1e-3).fit(data.X, data.y)
    TreeDisplay.from_estimator(model, data.X, ax=figure.subplots())


def greedy_miser(figure):
    """Draw the kind of curves in Figure 1, left, of Xu et al. (2012): one for each lambda, one point per iteration."""
    costs, (X, y, qid), (documents, relevance, queries) = ranking()
    axes = figure.subplots()
    for cost_weight in (0, 1e-6, 1e-5, 1e-4):
        models = GreedyMiserRanker(costs=costs, cost_weight=cost_weight, n_estimators=40).path(X, y, qid=qid)
        curve = cost_curve(models, documents, relevance, qid=queries, scoring="ndcg@5")
        CostCurveDisplay.from_curve(curve, name=f"cost_weight {cost_weight:g}", ax=axes)


def early_exit(figure):
    """Draw what documents that leave early save."""
    costs, (X, y, qid), (documents, relevance, queries) = ranking()
    forest = GreedyMiserRanker(costs=costs, cost_weight=0).fit(X, y, qid=qid)
    spends, scores = [], []
    for s in (0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 1, 2, 5):
        ranker = EarlyExitRanker(forest, costs=costs, s=s, evaluation_cost=0.1).fit(X, y, qid=qid)
        found = ranker.acquire(documents, qid=queries)
        spends.append(found.spend.mean())
        scores.append(ndcg_at_k(relevance, found.score, qid=queries))
    axes = figure.subplots()
    style_axes(axes)
    axes.plot(spends, scores, marker="o")
    axes.set(xlabel="mean spend per document (weak-learner evaluations)", ylabel="NDCG@5", xlim=(0, None))


def dynamic(figure):
    """Draw the reward of each policy, with an oracle and with a coach."""
    heart = load_heart()
    axes = figure.subplots()
    for name, coaching in (("DAgger", 0), ("Coaching", 0.5)):
        model = DynamicSelectionClassifier(costs=heart.costs, coaching=coaching, random_state=0)
        LearningCurveDisplay.from_estimator(model.fit(heart.X[:200], heart.y[:200]), name=name, ax=axes)


def attentive(figure):
    """Draw Figure 3a of Pelossof and Ying (2012)."""
    found = simulate_stst(n_terms=(4096, 8192, 16384), n_walks=2000, random_state=0)
    axes = figure.subplots()
    style_axes(axes)
    for length, errors in zip(found.n_terms, found.stop_error, strict=True):
        axes.plot(found.delta, errors, marker="o", label=f"{length} terms")
    axes.plot([0, 0.3], [0, 0.3], color="grey", linestyle="--", label="rate of stop-errors = delta")
    axes.set(xlabel="delta", ylabel="rate of stop-errors")
    axes.legend(frameon=False)


def truncated(figure):
    """Draw how many answers change if a kernel machine stops early, row by row or after a fixed number of terms."""
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    odd = y % 2
    machine = SVC().fit(X[:600], odd[:600])
    model = AttentiveClassifier(machine, boundary="certified", delta=0.05, random_state=0)
    StopErrorDisplay.from_estimator(model.fit(X[600:1200], odd[600:1200]), X[1200:], ax=figure.subplots())


def search(figure):
    """Draw the points of a search."""
    heart = load_heart()
    found = BudgetSearchCV(["l1", "astc", "attentive"], budget=170, costs=heart.costs, scoring="roc_auc")
    CostCurveDisplay.from_search(found.fit(heart.X[:200], heart.y[:200]), ax=figure.subplots())


def cascades(figure):
    """Draw Figure 7 of Xu et al. (2014) on synthetic queries, with the sizes of a quick run."""
    reproduced(figure, cstc_figure_7.CONTEST, "synthetic queries", "CSCC", "Cronus", "CSTC", "AND-OR", "AdaBoostRS")


def linear_trees(figure):
    """Draw Figure 3 of Kusner et al. (2014) on synthetic queries, with the sizes of a quick run."""
    reproduced(figure, astc_figure_3.CONTEST, "synthetic queries", *astc_figure_3.CONTEST.contenders)


def boosted_features(figure):
    """Draw Figure 11 of Xu et al. (2014), with the sizes of a quick run."""
    reproduced(figure, cstc_figure_11.CONTEST, "synthetic queries", *cstc_figure_11.CONTEST.contenders)


def static(figure):
    """Draw the kind of curves in Figure 1 of He et al. (2012): one order for all rows, and an order for each row."""
    names = "forward selection", "weight per cost", "Coaching, default", "all features"
    contenders = {name: dynamic_figure_1_curves.CONTEST.contenders[name] for name in names}
    reproduced(figure, Contest("static", {"heart": heart_problem}, contenders), "heart", *names)


def operating_curve(figure):
    """Draw the accuracy of the default model at its operating points, and that of one order for all rows."""
    heart = load_heart()
    (X, y), (rows, truth) = (heart.X[:200], heart.y[:200]), (heart.X[200:], heart.y[200:])
    model = ThriftyClassifier(costs=heart.costs, budget=150, random_state=0).fit(X, y)
    points = [model.at_budget(budget) for budget in (1, 3, 5, 10, 30, 60, 100, 150, 200, 250, 320)]
    one_order = StaticSelectionClassifier(costs=heart.costs, ranking="forward", random_state=0).fit(X, y)
    axes = figure.subplots()
    CostCurveDisplay.from_curve(cost_curve(points, rows, truth), name="default model", ax=axes)
    caps = [1, 3, 5, 10, 30, 60, 100, 150, 200, 250, 320]
    CostCurveDisplay.from_curve(cost_curve(one_order, rows, truth, caps=caps), name="one order for all rows", ax=axes)


def heart_problem(seed, full):
    """Return the heart data, divided as the reproductions divide tables."""
    return tabular(load_heart(), seed, 180, 90)


def reproduced(figure, contest, problem, *contenders):
    """Measure contenders of a reproduction on a problem with the first seed, and draw their curves."""
    wanted = {f"{problem}: {name}" for name in contenders}
    results = Results()
    compute([run for run in contest.runs(full=False) if run.key.seed == 0 and run.key.setting in wanted], results)
    axes = figure.subplots()
    style_axes(axes)
    axes.set_xlabel("mean spend")
    for result in results:
        contest.draw(result, axes)
    axes.legend(frameon=False, fontsize=8)


def ranking():
    """Return the prices of synthetic queries, (X, y, qid) of those to learn from, and of others."""
    data = make_ltr(200, 20, 40, random_state=0)
    halves = [(data.X[rows], data.y[rows], data.qid[rows]) for rows in (data.qid < 100, data.qid >= 100)]
    return data.costs, *halves


def ranks(figure):
    """Draw the mean ranks of the committed summary of the benchmark suite."""
    draw_ranks(committed_ranking(), figure)


def scaling(figure):
    """Draw the times of fits in the committed summary of the benchmark suite."""
    draw_growth(committed()["scaling"]["training"], figure)


FIGURES = [
    astc,
    cstc,
    greedy_miser,
    early_exit,
    dynamic,
    attentive,
    truncated,
    search,
    ranks,
    scaling,
    cascades,
    linear_trees,
    boosted_features,
    static,
    operating_curve,
]


def main(names: list[str]) -> None:
    """Draw the figures that are named, or all."""
    matplotlib.rcParams.update({"svg.hashsalt": "thrifty", "font.size": 10})
    for draw in FIGURES:
        name = draw.__name__.replace("_", "-")
        if not names or name in names:
            figure = Figure(figsize=(8, 4.2), layout="constrained")
            draw(figure)
            figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
            print(name, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
