"""A table with columns of every kind and missing values, the costs of its columns, and targets that depend on it."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl

from thrifty import CostModel

NAMES = ["age", "city", "pain", "smokes", "visit", "pulse", "note"]
COSTS = CostModel(
    {"age": 1.0, "city": 0.3, "pain": 2.5, "smokes": None, "visit": 0.0, "pulse": 4.1, "note": 0.7},
    bundles={"nurse": (["smokes", "pulse", "pain"], 2.2)},
    unit="CAD",
)


def columns(n_rows=300, seed=0):
    """Return plain lists, None where a value is missing."""
    random = np.random.default_rng(seed)
    values = {
        "age": random.integers(20, 90, n_rows).tolist(),
        "city": random.choice(["Bern", "Genf", "Chur"], n_rows).tolist(),
        "pain": random.choice(["none", "typical", "atypical"], n_rows).tolist(),
        "smokes": (random.random(n_rows) < 0.4).tolist(),
        "visit": [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in random.integers(0, 900, n_rows)],
        "pulse": random.normal(70, 9, n_rows).tolist(),
        "note": random.choice(["a", "b", "c", "d", "e"], n_rows, p=[0.4, 0.3, 0.2, 0.06, 0.04]).tolist(),
    }
    for name in ("age", "pain", "smokes", "visit", "pulse"):
        values[name] = [None if random.random() < 0.1 else value for value in values[name]]
    return values


def as_pandas(values):
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in values.items()})
    frame["age"] = frame["age"].astype("Int64")
    frame["pulse"] = frame["pulse"].astype(float)
    frame["city"] = frame["city"].astype("str")
    frame["pain"] = frame["pain"].astype("category")
    frame["visit"] = pd.to_datetime(frame["visit"])
    return frame


def as_polars(values):
    return pl.DataFrame(values).with_columns(pl.col("pain").cast(pl.Categorical), pl.col("city").cast(pl.Categorical))


def as_objects(values):
    return np.array(list(values.values()), dtype=object).T


def targets(values, seed=0):
    """Return a number per row that depends on every column except the note."""
    random = np.random.default_rng(seed)
    rows = zip(*(values[name] for name in NAMES), strict=True)
    clean = [
        (age or 50) / 20 + 2 * (city == "Bern") + 3 * (pain == "typical") + 2 * (pain is None) + bool(smokes)
        + ((visit or dt.date(2021, 1, 1)) - dt.date(2020, 1, 1)).days / 300 + (pulse or 70) / 20
        for age, city, pain, smokes, visit, pulse, _ in rows
    ]  # fmt: skip
    return np.array(clean) + random.normal(scale=0.3, size=len(clean))
