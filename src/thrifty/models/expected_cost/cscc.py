"""CSCC: cost-sensitive cascades of classifiers.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 4 (eq. 19).
"""

from thrifty.models.expected_cost.cascade import CascadeClassifier


class CSCCClassifier(CascadeClassifier):
    """Cost-sensitive cascade of classifiers, for data in which one class is rare.

    At every stage rows that are unlikely to be of the rare class leave. A stage's loss counts for those who leave
    there, and the expected cost for everything acquired up to there.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    cost_weight : float, default=0.01
        Penalty per unit of expected cost, on columns of unit variance.
    n_stages : int, default=5
        Stages of the cascade.
    class_weight : dict, "balanced" or None
        How much the loss of each class counts; what rows cost is not affected.
    loss : {"squared", "logistic"}, default="squared"
        Loss of every node. Squared loss takes targets of +-1, or one-hot for more classes; answers are calibrated to
        log-odds either way.
    l1_weight : float, default=1e-5
        Weight of the plain l1 norm of all weights.
    sharpness : float or None
        Factor within the sigmoid that sends rows up or down in training, for scores in standard deviations of the
        target. The larger, the closer training is to the hard routing of prediction. ``None`` means 20 for squared
        loss and 5 for logistic loss.
    solver : {"joint", "block"}, default="joint"
        All nodes at once by L-BFGS, or the paper's Algorithm 1, one node at a time, which is many times slower.
    fine_tune : {"support", "held"} or None, default="support"
        Refit the answers without the cost penalty, on the features that a node weighs itself, or on everything that
        is held there, draw them towards the answer of the node before where rows are few, and drop what no route
        depends on. ``None`` answers just as it was learned.
    feature_map : None, forest or BoostedFeatureMap
        None: nodes are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: nodes are linear in the outputs of its trees, which cost what they read and, if the map
        says so, their evaluation. A forest that is not fitted is fitted on the training rows first.
    scoring : str, callable or None
        Score on validation rows, larger is better: a scikit-learn scorer, ``"ndcg@k"`` or ``"precision@k"`` by
        query (pass ``qid``), or None for the estimator's own ``score``.
    early_stopping : bool, default=False
        Keep the parameters of the best validation score, and stop when it has not risen for a few rounds.
    validation_fraction : float, default=0.2
        Share of the rows held out where validation is needed and ``fit`` is not given any.
    max_iter : int, default=100
        Rounds of the solver at most.
    tol : float, default=0.05
        Largest optimality residual at which the solver is content: the steepest slope left, in units of the slope
        that a column equal to the target would have at first.
    verbose : bool, default=False
        Show a progress bar.
    random_state : int, RandomState or None
        Draws the validation rows; nothing else is random.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes.
    objective_ : list of float
        The objective at the start and after each round; it never rises.
    residual_ : float
        The optimality residual at the end.
    converged_ : bool
        Whether it is at most ``tol``.
    n_iter_ : int
        Rounds done.
    validation_scores_ : list of float
        Scores of the rounds, with early stopping.
    feature_map_ : BoostedFeatureMap or None
        The feature map in use.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of ``predict_proba``'s columns.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 4.

    Examples
    --------
    Most rows are answered before the dear features are bought:

    >>> from thrifty import CSCCClassifier
    >>> from thrifty.datasets import make_ltr_skewed
    >>> data = make_ltr_skewed(20, n_features=30, random_state=0)
    >>> model = CSCCClassifier(costs=data.costs, n_stages=3, cost_weight=1e-4).fit(data.X, data.y)
    >>> relevant = data.y == 1
    >>> spend = model.spend(data.X)
    >>> bool(spend[~relevant].mean() < spend[relevant].mean())
    True
    """
