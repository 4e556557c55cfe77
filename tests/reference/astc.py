"""ASTC straight from Kusner et al. (2014): Algorithm 1 with the Gram-Schmidt process of eqs. (9)-(11).

Loops and NumPy, importing nothing of thrifty. Costs are units: `requirement[a, u]` tells that feature a requires
unit u. Features of the path come first and free; another free feature is taken while it adds `min_gain`.
"""

import numpy as np


def node_features(X, Y, p, held, paid, requirement, unit_costs, budget, overflow, min_gain):
    """Return (all features in the model in order, those bought here, units paid)."""
    root = np.sqrt(p)[:, None]
    Xw = root * (X - p @ X / p.sum())
    Yw = root * (Y - p @ Y / p.sum())
    variance = (Yw**2).sum()
    Q = np.zeros((len(X), 0))
    selected, bought, paid, spent = [], [], set(paid), 0.0

    def candidate(a):
        q = Xw[:, a] - Q @ (Q.T @ Xw[:, a])
        q = q - Q @ (Q.T @ q)
        norm = np.linalg.norm(q)
        if norm**2 <= 1e-9 * (Xw[:, a] ** 2).sum() or norm < 1e-12:
            return None, 0.0
        q = q / norm
        return q, ((q @ Yw) ** 2).sum() / variance if variance > 0 else 0.0

    for a in held:
        q, _ = candidate(a)
        if q is not None:
            Q, selected = np.column_stack([Q, q]), [*selected, a]
    while True:
        free, priced = (0.0, None, None), (0.0, None, None)
        for a in range(X.shape[1]):
            q, gain = candidate(a) if a not in selected else (None, 0.0)
            if q is None:
                continue
            price = sum(unit_costs[u] for u in np.flatnonzero(requirement[a]) if u not in paid)
            if price == 0 and gain > min_gain and gain > free[0] * (1 + 1e-9):
                free = (gain, a, q)
            fits = spent + price <= budget + 1e-9
            if price > 0 and gain > 1e-12 and (fits or overflow == "stop") and gain / price > priced[0] * (1 + 1e-9):
                priced = (gain / price, a, q)
        _, a, q = free if free[1] is not None else priced
        if a is None:
            break
        price = sum(unit_costs[u] for u in np.flatnonzero(requirement[a]) if u not in paid)
        if spent + price > budget + 1e-9:
            break
        spent += price
        paid |= set(np.flatnonzero(requirement[a]).tolist())
        Q, selected, bought = np.column_stack([Q, q]), [*selected, a], [*bought, a]
    return selected, bought, paid


def least_squares(X, Y, p, selected):
    """Return weights (k, t) and intercepts (t,) of weighted least squares."""
    design = np.column_stack([np.ones(len(X)), X[:, selected]])
    root = np.sqrt(p)[:, None]
    beta = np.linalg.lstsq(root * design, root * Y, rcond=None)[0]
    return beta[1:], beta[0]


def grow(X, Y, weight, requirement, unit_costs, budgets, overflow="stop", min_gain=1e-4, min_rows=1, soft=False):
    """Return {place: node} with places counted level by level, upper child 2p + 1, lower child 2p + 2."""
    scale = np.sqrt(weight @ ((Y - weight @ Y / weight.sum()) ** 2).sum(axis=1) / weight.sum())
    nodes, queue = {}, [(0, weight.astype(float), [], set())]
    while queue:
        place, p, held, paid = queue.pop(0)
        selected, bought, now_paid = node_features(
            X, Y, p, held, paid, requirement, unit_costs, budgets[place], overflow, min_gain
        )
        beta, intercept = least_squares(X, Y, p, selected)
        scores = X[:, selected] @ beta + intercept
        nodes[place] = {"selected": selected, "bought": bought, "beta": beta, "intercept": intercept, "p": p}
        if 2 * place + 2 >= len(budgets) or Y.shape[1] > 1:
            continue
        s, here = scores[:, 0], p > 0
        theta = weighted_median(s[here], p[here])
        up = 1 / (1 + np.exp(-(s - theta) / scale)) if soft else (s > theta).astype(float)
        if min(p[s > theta].sum(), p[s <= theta].sum()) < min_rows:
            continue
        nodes[place]["theta"] = theta
        path = held + sorted(bought)
        queue += [(2 * place + 1, p * up, path, now_paid), (2 * place + 2, p * (1 - up), path, now_paid)]
    return nodes


def weighted_median(values, weight):
    """Median of the values, each repeated in proportion to its weight."""
    order = np.argsort(values)
    values, cumulative = values[order], np.cumsum(weight[order])
    half = cumulative[-1] / 2
    left = values[np.searchsorted(cumulative, half * (1 - 1e-9))]
    right = values[min(np.searchsorted(cumulative, half * (1 + 1e-9)), len(values) - 1)]
    return (left + right) / 2


def predict_row(x, nodes, path_cost, cap=np.inf):
    """Hard routing: return (place where the row ends, its score); (-1, None) if the root is too dear."""
    place, score = -1, None
    target = 0
    while target in nodes and path_cost[target] <= cap:
        place, node = target, nodes[target]
        score = x[node["selected"]] @ node["beta"] + node["intercept"]
        if "theta" not in node:
            break
        target = 2 * place + 1 if score[0] > node["theta"] else 2 * place + 2
    return place, score
