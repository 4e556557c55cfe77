"""All nodes at once: L-BFGS on the bound of Lemma 1, then the bound is moved to where it touches.

Each round minimises an upper bound that touches the objective where the round begins, so the objective never rises.
Weights that fall below a small threshold are set to zero and leave the problem, columns that no node weighs any
more leave the matrix. When all is still, weights that were set to zero too soon are let in again.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from thrifty.models.expected_cost.objective import Auxiliaries, Evaluation, Objective, Parameters
from thrifty.models.expected_cost.penalties import SMALLEST


class Solution(NamedTuple):
    parameters: Parameters
    history: list[float]
    converged: bool


def violations(objective, P):
    """how much each zero weight wants to leave zero (gradient beyond what the penalty allows)"""
    e = objective.evaluate(P)
    soft = objective.traverse(P, objective.scores(P))
    allow = objective.l1_weight + objective.cost_weight * objective.penalty.reluctance(P.squares(), soft.mass, soft.exit_mass)
    g = np.linalg.norm(e.weights, axis=1)
    return np.where(P.squares() == 0, g - allow, 0.0), e.weights, soft.mass


def solve_jointly(objective, start, *, free=None, max_rounds=100, inner=30, tol=1e-5, least=None, verbose=False, entries=5, enter=1e-3):
    K, m, d = start.weights.shape
    free = np.ones(K, bool) if free is None else free
    P, history = descend(objective, start, free, max_rounds, inner, tol)
    for e in range(entries):
        v, g, mass = violations(objective, P)
        scale = 1e-3 * np.abs(objective.targets).mean()
        want = (v > scale * mass[:, None]) & free[:, None]
        if verbose: print("enter", want.sum(), v.max(), len(history), history[-1])
        if not want.any():
            break
        W = np.where(want[:, None, :], -1e-2 * g / (1e-300 + np.linalg.norm(g, axis=1, keepdims=True)), P.weights)
        Q, h2 = descend(objective, Parameters(W, P.intercepts, P.thresholds, P.directions), free, max_rounds, inner, tol)
        if h2[-1] >= history[-1]:
            break
        P = Q
        history += h2[1:]
    return Solution(P, history, True)


def descend(objective, start, free, max_rounds, inner, tol):
    K, m, d = start.weights.shape
    parameters = start
    active = (parameters.squares() > 0)  # (K, d)
    columns = np.flatnonzero(active.any(axis=0))
    small = objective.on(columns) if len(columns) < d else objective
    P = Parameters(parameters.weights[:, :, columns], parameters.intercepts, parameters.thresholds, parameters.directions)
    history = [small.value(P)]
    for r in range(max_rounds):
        active = P.squares() > 0
        P_new = round_(small, P, active & free[:, None], free, inner)
        # clamp
        sq = P_new.squares()
        keep = sq >= SMALLEST**2
        keep |= ~free[:, None]
        cl = Parameters(np.where(keep[:, None, :], P_new.weights, 0.0), P_new.intercepts, P_new.thresholds, P_new.directions)
        v = small.value(cl)
        if not v <= history[-1]:
            v0 = small.value(P_new)
            if v0 <= history[-1]:
                cl, v = P_new, v0
            else:
                break
        P = cl
        history.append(v)
        used = (P.squares() > 0).any(axis=0)
        if used.mean() < 0.7:
            keepc = np.flatnonzero(used)
            columns = columns[keepc]
            small = small.on(keepc)
            P = Parameters(P.weights[:, :, keepc], P.intercepts, P.thresholds, P.directions)
        if history[-2] - v < tol * abs(v):
            break
    W = np.zeros((K, m, d))
    W[:, :, columns] = P.weights
    return Parameters(W, P.intercepts, P.thresholds, P.directions), history


def round_(objective, P, active, free, inner):
    K, m, d = P.weights.shape
    soft = objective.traverse(P, objective.scores(P))
    held = objective.auxiliaries(P, soft.mass, SMALLEST)
    bound = objective.penalty.bound(P.squares(), soft.mass, soft.exit_mass, held.roots)
    curv = objective.cost_weight * bound.curvature + objective.l1_weight / held.magnitudes
    h = (0.25 if objective.logistic else 2.0) * np.maximum(soft.mass, 1e-6)
    scale = 1 / np.sqrt(h[:, None] + curv)  # (K,d)
    mask = np.broadcast_to(active[:, None, :], P.weights.shape)
    sW = np.broadcast_to(scale[:, None, :], P.weights.shape)[mask]
    sb = np.repeat(1 / np.sqrt(h[free]), m)
    inn = objective.topology.inner & free
    st = 1 / np.sqrt(h[inn])
    nW, nb = sW.size, sb.size

    def unpack(x):
        W = P.weights.copy()
        W[mask] = x[:nW] * sW
        b = P.intercepts.copy()
        b[free] = (x[nW:nW + nb] * sb).reshape(-1, m)
        t = P.thresholds.copy()
        t[inn] = x[nW + nb:] * st
        return Parameters(W, b, t, P.directions)

    def fun(x):
        e = objective.evaluate(unpack(x), held)
        return e.value, np.concatenate([e.weights[mask] * sW, e.intercepts[free].ravel() * sb, e.thresholds[inn] * st])

    x0 = np.concatenate([P.weights[mask] / sW, P.intercepts[free].ravel() / sb, P.thresholds[inn] / st])
    res = minimize(fun, x0, jac=True, method="L-BFGS-B", options=dict(maxiter=inner, maxcor=10, ftol=1e-9, gtol=1e-9))
    return unpack(res.x)
