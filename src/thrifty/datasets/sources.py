"""Table of the data sets: file in the data folder, where it is published, prices.

Files are ``.npz`` archives without pickled objects. Arrays of a file that are not named here are returned to the user
under their own names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thrifty.datasets import recipes
from thrifty.datasets.prices import STEPS, UNIT, YAHOO, Pricing, turney

_TABLE = ("X", "y")
_NAMED = (*_TABLE, "feature_names")
_SPLIT = ("X_train", "y_train", "X_test", "y_test")
_PRICES = ("feature_names", "cost", "cost_discount", "group", "delayed")
_STEPS = (
    "X",
    "feature_names",
    "feature_step",
    "step_names",
    "step_cost",
    "algo_perf",
    "algo_ok",
    "algo_names",
    "cutoff",
)


@dataclass(frozen=True)
class Source:
    """One row of the table.

    Attributes
    ----------
    file : str
        Path of the file in the data folder.
    title : str
        Title of the data set.
    published : str
        Where the data set is published.
    arrays : tuple of str
        Arrays that the file must contain.
    companion : str or None
        Name of a JSON file in the same folder.
    pricing : Pricing
        Prices of the features.
    recipe : callable
        Conversion of the stored arrays to X and y, see `recipes`.
    classes : dict
        Names of the published class codes; empty if classes have no names.
    graded : bool
        Whether y holds grades of relevance (ranking) instead of classes.
    names : tuple of str
        Names of the columns if the file does not contain them.
    dtype : dtype
        Type of X.
    note : str
        Remarks for users.
    """

    file: str
    title: str
    published: str
    arrays: tuple[str, ...] = _TABLE
    companion: str | None = None
    pricing: Pricing = UNIT
    recipe: Callable[..., dict[str, Any]] = recipes.as_stored
    classes: Mapping[int, str] = field(default_factory=dict)
    graded: bool = False
    names: tuple[str, ...] = ()
    dtype: Any = np.float64
    note: str = ""


def _aslib(scenario: str) -> Source:
    folder = "aslib_" + scenario.lower().replace("-", "_")
    return Source(
        f"{folder}/{scenario.lower()}.npz",
        f"ASlib {scenario}, algorithm selection",
        f"coseal/aslib_data on GitHub, scenario {scenario}",
        _STEPS,
        companion="steps.json",
        pricing=STEPS,
        recipe=recipes.aslib,
        note="X has missing values. y is the fastest algorithm, or `none` if no algorithm solved the instance.",
    )


def _newsgroups(code: str, topic: str) -> Source:
    return Source(
        f"skf_{code.lower()}/{code.lower()}.npz",
        f"20 Newsgroups, {topic}, word counts",
        f"the scikit-feature repository, {code}.mat",
        dtype=np.float32,
    )


_BLOOD = {"A": "blood draw"}
_COVERS = (
    "spruce or fir", "lodgepole pine", "ponderosa pine", "cottonwood or willow",
    "aspen", "Douglas fir", "krummholz",
)  # fmt: skip
_SURFACES = ("brickface", "sky", "foliage", "cement", "window", "path", "grass")
_WDBC_MEASURES = (
    "radius", "texture", "perimeter", "area", "smoothness",
    "compactness", "concavity", "concave points", "symmetry", "fractal dimension",
)  # fmt: skip

SOURCES: dict[str, Source] = {
    "aslib_asp_potassco": _aslib("ASP-POTASSCO"),
    "aslib_sat12_indu": _aslib("SAT12-INDU"),
    "basehock": _newsgroups("BASEHOCK", "baseball against hockey"),
    "bupa": Source(
        "uci_bupa/bupa.npz",
        "BUPA liver disorders, five blood tests",
        "UCI 'Liver Disorders'",
        (*_TABLE, *_PRICES),
        pricing=turney(_BLOOD),
        classes={0: "fewer than 3 drinks", 1: "3 drinks or more"},
        note="`selector` marks a split of the rows into training and test rows. It is not a diagnosis.",
    ),
    "covtype": Source(
        "covtype/covtype.npz",
        "Forest cover type",
        "UCI 'Covertype' and OpenML 'covertype'",
        ("X_cont", "wilderness", "soil", "y", "feature_names"),
        recipe=recipes.covtype,
        classes=dict(enumerate(_COVERS, start=1)),
        dtype=np.float32,
    ),
    "heart_cleveland": Source(
        "uci_heart_cleveland/heart_cleveland.npz",
        "Heart disease, Cleveland",
        "UCI 'Heart Disease' (processed.cleveland.data)",
        (*_TABLE, *_PRICES),
        pricing=turney({"A": "blood draw", "B": "thallium test", "C": "exercise test"}),
        recipe=recipes.cleveland,
        classes={0: "absent", 1: "present"},
        note="`num` is the published diagnosis, 0 to 4. Some copies of the file have 0 where ca or thal is missing.",
    ),
    "hepatitis": Source(
        "uci_hepatitis/hepatitis.npz",
        "Hepatitis, prognosis",
        "UCI and OpenML 'Hepatitis'",
        (*_TABLE, *_PRICES),
        pricing=turney(_BLOOD),
        classes={1: "die", 2: "live"},
        note="X has missing values.",
    ),
    "higgs": Source(
        "higgs_small/higgs_small.npz",
        "Higgs boson, the sample in LightGBM's examples",
        "microsoft/LightGBM on GitHub, examples/binary_classification; the full data set is UCI 'HIGGS'",
        _SPLIT,
        classes={0: "background", 1: "signal"},
    ),
    "ionosphere": Source(
        "ionosphere/ionosphere.npz",
        "Ionosphere, radar returns",
        "UCI 'Ionosphere' and OpenML 'ionosphere'",
        classes={0: "bad", 1: "good"},
    ),
    "isolet": Source(
        "skf_isolet/isolet.npz",
        "Isolet, 26 spoken letters, a subset",
        "the scikit-feature repository, Isolet.mat; the full data set is UCI 'ISOLET'",
    ),
    "letter": Source(
        "letter/letter.npz",
        "Letter recognition",
        "UCI 'Letter Recognition' and OpenML 'letter'",
        _NAMED,
        recipe=recipes.letter,
        classes=dict(enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
    ),
    "mnist": Source(
        "mnist/mnist.npz",
        "MNIST handwritten digits",
        "OpenML 'mnist_784'",
        _SPLIT,
        recipe=recipes.mnist,
        dtype=np.float32,
    ),
    "mq2008": Source(
        "ltr_mq2008/mq2008.npz",
        "MQ2008, ranking",
        "Microsoft LETOR 4.0, 'MQ2008', supervised ranking, parts S1 to S5",
        (*_NAMED, "qid", "split"),
        pricing=YAHOO,
        recipe=recipes.mq2008,
        graded=True,
    ),
    "mslr": Source(
        "ltr_mslr_sample/mslr_sample.npz",
        "MSLR, ranking, a sample of whole queries",
        "Microsoft 'MSLR-WEB10K' and 'MSLR-WEB30K'",
        (*_NAMED, "qid", "part", "part_names"),
        pricing=YAHOO,
        recipe=recipes.mslr,
        graded=True,
    ),
    "ohsumed": Source(
        "ltr_ohsumed/ohsumed.npz",
        "OHSUMED, ranking",
        "Microsoft LETOR 2.0, 'OHSUMED'",
        (*_TABLE, "qid"),
        pricing=YAHOO,
        recipe=recipes.ohsumed,
        graded=True,
        note="Queries 1-95 are training rows and 96-106 test rows. These are not the five folds of LETOR.",
    ),
    "optdigits": Source(
        "optdigits/optdigits.npz",
        "Optical recognition of handwritten digits",
        "UCI 'Optical Recognition of Handwritten Digits' and OpenML 'optdigits'",
        _SPLIT,
    ),
    "pcmac": _newsgroups("PCMAC", "PC against Mac hardware"),
    "pendigits": Source(
        "pendigits/pendigits.npz",
        "Pen-based recognition of handwritten digits",
        "UCI 'Pen-Based Recognition of Handwritten Digits' and OpenML 'pendigits'",
        _SPLIT,
    ),
    "pima": Source(
        "uci_pima/pima.npz",
        "Pima Indians diabetes",
        "OpenML 'diabetes'",
        (*_TABLE, *_PRICES),
        pricing=turney(_BLOOD),
        classes={0: "negative", 1: "positive"},
        note="A zero in glucose_tol, diastolic_bp, triceps, insulin or mass_index means that the value is missing.",
    ),
    "satimage": Source(
        "satimage/satimage.npz",
        "Landsat satellite, 3 x 3 pixels in 4 spectral bands",
        "UCI 'Statlog (Landsat Satellite)' and OpenML 'satimage'",
        _SPLIT,
    ),
    "segmentation": Source(
        "segmentation/segment.npz",
        "Image segmentation",
        "UCI 'Statlog (Image Segmentation)' and OpenML 'segment'",
        _NAMED,
        classes=dict(enumerate(_SURFACES, start=1)),
    ),
    "semeion": Source(
        "semeion/semeion.npz",
        "Semeion handwritten digits, 16 x 16 binary pixels",
        "UCI 'Semeion Handwritten Digit' and OpenML 'semeion'",
    ),
    "spambase": Source(
        "spambase/spambase.npz",
        "Spambase, e-mail word and character frequencies",
        "UCI 'Spambase' and OpenML 'spambase'",
        _NAMED,
        classes={0: "mail", 1: "spam"},
    ),
    "thyroid": Source(
        "uci_ann_thyroid/ann_thyroid.npz",
        "Thyroid disease, the ann-thyroid version",
        "UCI 'Thyroid Disease' (ann-train.data, ann-test.data)",
        (*_SPLIT, *_PRICES),
        pricing=turney(_BLOOD, requires={"FTI": ("TT4", "T4U")}),
        classes={1: "class 1", 2: "class 2", 3: "class 3 (normal)"},
        note="FTI is computed from TT4 and T4U, so it is free once both are paid.",
    ),
    "usps": Source(
        "usps/usps.npz",
        "USPS handwritten digits, 16 x 16 grey pixels",
        "the web site of 'The Elements of Statistical Learning' (zip.train, zip.test) and OpenML 'USPS'",
        _SPLIT,
    ),
    "wdbc": Source(
        "wdbc/wdbc.npz",
        "Wisconsin diagnostic breast cancer",
        "UCI 'Breast Cancer Wisconsin (Diagnostic)' and OpenML 'wdbc'",
        classes={0: "benign", 1: "malignant"},
        names=tuple(f"{measure} {kind}" for kind in ("mean", "error", "worst") for measure in _WDBC_MEASURES),
    ),
}
