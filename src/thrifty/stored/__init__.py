"""What a model file may hold: every structure declares its stored fields, and each field has a kind.

    kinds.py         what a kind is: how a value is written, and what is refused when it is read
    values.py        numbers, flags and text          arrays.py        arrays of numbers, classes and names
    containers.py    lists, dicts, optional values    parameters.py    arguments of constructors, of many types
    structures.py    classes that declare their fields, and the register of these classes
    scikit_learn.py  unfitted estimators of scikit-learn, by name
    medium.py        the bytes of the arrays

A field is checked before anything is made of it. Nothing in a file is run, and no class is imported by a name in it.
"""

from thrifty.stored.arrays import Array, Labels, Lengths, Texts
from thrifty.stored.containers import ListOf, MappingOf, Maybe, OneOrMany, OrNone, PairsOf, TupleOf
from thrifty.stored.kinds import Kind
from thrifty.stored.parameters import OrForeign, Parameter
from thrifty.stored.structures import Structure, register, stored
from thrifty.stored.values import FeatureId, Flag, Number, Plain, Text, Whole

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
