"""What a model file may hold: every structure declares its stored fields, and each field has a kind.

    kinds.py         arrays, numbers, text and lists: how each is written, and what is refused when it is read
    parameters.py    arguments of constructors, which may be of many types
    structures.py    classes that declare their fields, and the register of these classes
    scikit_learn.py  unfitted estimators of scikit-learn, by name
    medium.py        the bytes of the arrays

A field is checked before anything is made of it. Nothing in a file is run, and no class is imported by a name in it.
"""

from thrifty.stored.kinds import (
    Array,
    FeatureId,
    Flag,
    Kind,
    Labels,
    Lengths,
    ListOf,
    MappingOf,
    Maybe,
    Number,
    OneOrMany,
    OrNone,
    PairsOf,
    Plain,
    Text,
    Texts,
    TupleOf,
    Whole,
)
from thrifty.stored.parameters import OrForeign, Parameter
from thrifty.stored.structures import Structure, register, stored

__all__ = [
    "Array",
    "FeatureId",
    "Flag",
    "Kind",
    "Labels",
    "Lengths",
    "ListOf",
    "MappingOf",
    "Maybe",
    "Number",
    "OneOrMany",
    "OrForeign",
    "OrNone",
    "PairsOf",
    "Parameter",
    "Plain",
    "Structure",
    "Text",
    "Texts",
    "TupleOf",
    "Whole",
    "register",
    "stored",
]
