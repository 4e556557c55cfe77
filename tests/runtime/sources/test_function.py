"""A decorated function is a source, and still a function; what it returns may have several forms."""

import asyncio

import numpy as np
import pytest

from thrifty import SourceError, source
from thrifty.runtime.sources.base import AsyncSource, BlockingSource
from thrifty.runtime.sources.values import record_values


def test_a_function_stays_callable_and_keeps_its_name_and_text():
    @source(provides=["age", "sex"], cost=2.0, timeout=0.5)
    def person(key, *, upper=False):
        """Look a person up."""
        return 61, "F" if upper else "f"

    assert isinstance(person, BlockingSource)
    assert person("a17", upper=True) == (61, "F")
    assert (person.__name__, person.__doc__, person.name) == ("person", "Look a person up.", "person")
    assert (person.features, person.cost, person.timeout, person.max_batch) == (("age", "sex"), 2.0, 0.5, 1)
    assert repr(person) == "FunctionSource('person', provides=['age', 'sex'])"


@pytest.mark.parametrize("entry", [(61, "f"), [61, "f"], {"sex": "f", "age": 61}, np.array([61, "f"], dtype=object)])
def test_a_key_may_give_a_mapping_or_the_values_in_order(entry):
    person = source(provides=["age", "sex"])(lambda key: entry)
    assert dict(person.read(["a17"])[0]) == {"age": 61, "sex": "f"}


@pytest.mark.parametrize("entry", [61, [61], (61,), np.array([61]), {"age": 61}])
def test_the_only_feature_may_be_given_as_it_is(entry):
    assert source(provides="age")(lambda key: entry).read(["a17"]) == [{"age": 61}]


def test_none_is_an_unknown_key_and_an_unavailable_value_if_there_is_one_feature_only():
    assert source(provides=["age", "sex"])(lambda key: None).read(["a17"]) == [None]
    assert source(provides=["age"])(lambda key: None).read(["a17"]) == [{"age": None}]


def test_a_batch_is_one_call():
    calls = []

    @source(provides={"length": int, "first": str}, batch=True, max_batch=50)
    def texts(keys):
        calls.append(keys)
        return [(len(key), key[0]) if key else None for key in keys]

    assert texts.max_batch == 50
    assert texts.read(("ab", "", "c")) == [{"length": 2, "first": "a"}, None, {"length": 1, "first": "c"}]
    assert calls == [["ab", "", "c"]]


def test_coroutine_functions_are_awaited():
    @source(provides=["length"])
    async def length(key):
        await asyncio.sleep(0)
        return len(key)

    @source(provides=["length"], batch=True)
    async def lengths(keys):
        return [len(key) for key in keys]

    for each in (length, lengths):
        assert isinstance(each, AsyncSource)
        assert asyncio.run(each.fetch(["ab", "c"])) == [{"length": 2}, {"length": 1}]
    assert (length.max_batch, lengths.max_batch) == (1, None)
    assert asyncio.run(length("abc")) == 3


def test_an_object_with_an_asynchronous_call_is_awaited_too():
    class Service:
        async def __call__(self, key):
            return len(key)

    service = source(provides=["length"])(Service())
    assert service.name == "Service"
    assert asyncio.run(service.fetch(["ab"])) == [{"length": 2}]


def test_an_entry_that_is_not_valid_concerns_its_own_key_only():
    @source(provides=["age", "sex"], batch=True)
    def person(keys):
        return [(61, "f"), (61,), "61 f", [[1], [2, 3], 4]]

    records = person.read([1, 2, 3, 4])
    assert [len(record_values(person, record)[1]) for record in records] == [0, 2, 2, 2]


def test_a_batch_of_another_length_is_refused():
    with pytest.raises(SourceError, match="source 'ages' returned 1 record"):
        source(provides=["age"], batch=True, name="ages")(lambda keys: [61]).read([1, 2])


def test_attributes_of_the_function_do_not_replace_what_is_declared():
    def age(key):
        return 61

    age.name, age.cost, age.note = "other", 99.0, "kept"
    made = source(provides=["age"], cost=1.0)(age)
    assert (made.name, made.cost, made.note) == ("age", 1.0, "kept")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"provides": []}, "at least one name"),
        ({"provides": ["a", "a"]}, "each once"),
        ({"provides": [1]}, "expected a list of feature names"),
        ({"provides": {"a": list}}, "'a' has type"),
        ({"provides": ["a"], "cost": -1}, "cost is -1"),
        ({"provides": ["a"], "timeout": 0}, "timeout is 0"),
        ({"provides": ["a"], "max_batch": 9}, "max_batch is 9, but the function takes one key. Pass batch=True"),
        ({"provides": ["a"], "batch": True, "max_batch": 0}, "max_batch is 0"),
    ],
)
def test_a_bad_declaration_is_refused(options, says):
    with pytest.raises(SourceError) as refusal:
        source(**options)(lambda key: 1)
    assert says in str(refusal.value)


@pytest.mark.parametrize("thing", [17, "age", source(provides="a")(len)])
def test_only_functions_are_decorated(thing):
    with pytest.raises(SourceError, match="expected a function"):
        source(provides=["a"])(thing)
