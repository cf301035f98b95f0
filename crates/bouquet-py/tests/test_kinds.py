"""Every kind of the registry has a class with its settings, and every verb has a method."""

from __future__ import annotations

import copy
import inspect
import pickle

import bouquet
import pytest
from bouquet import _native
from conftest import KINDS, note_for, small

#: The methods of verbs that are not called as the verb is.
METHODS = {
    "insert": "add",
    "cardinality": "estimate",
    "compress": "entropy_bits",
    "build_from": "build",
    "weigh": "probability",
}


def test_every_verb_has_a_method() -> None:
    for verb in bouquet.verbs():
        assert callable(getattr(bouquet.Filter, METHODS.get(verb, verb), None)), verb


@pytest.mark.parametrize("kind", KINDS)
def test_a_class_has_the_settings_and_the_text_of_its_kind(kind: str) -> None:
    facts = _native.describe(kind)
    made = getattr(bouquet, facts["class_name"])
    assert made.__name__ in bouquet.__all__ and made.__module__ == "bouquet"
    assert facts["summary"] in made.__doc__
    parameters = inspect.signature(made).parameters
    assert [name for name in parameters if name != "hashing"] == [of["keyword"] for of in facts["parameters"]]
    for of in facts["parameters"]:
        assert parameters[of["keyword"]].default == of["default"] and of["help"] in made.__doc__
    for special in facts["specials"]:
        assert callable(getattr(made, special["method"]))


@pytest.mark.parametrize("kind", KINDS)
def test_a_filter_of_any_kind_is_made_filled_asked_copied_and_sent(kind: str) -> None:
    facts = _native.describe(kind)
    made = small(kind)
    assert type(made).__name__ == facts["class_name"] and isinstance(made, bouquet.Filter) and made.kind == kind
    keys = [3, 5, 8, 13]
    notes = [note_for(facts["note"], at) for at in range(len(keys))]
    if facts["built_once"] or not made.can("insert"):
        made = bouquet.Filter.build(kind, keys, notes=None if facts["note"] == "none" else notes)
    else:
        for key, note in zip(keys, notes):
            made.add(key, note) if note is not None else made.add(key)
    if made.can("contains") and "false negatives" not in facts["errors"]:
        assert all(key in made for key in keys)
        assert made.contains_many(keys).all()
    for again in [copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made)), bouquet.from_bytes(made.to_bytes())]:
        assert type(again) is type(made) and again == made and again.settings == made.settings
    assert bouquet.from_bytes(made.to_bytes(compressed=True)) == made
    assert made.stats().items == len(made) and repr(made).startswith(f"<{facts['class_name']}(")
    if made.can("merge"):
        assert (made | made).kind == kind
    for verb in bouquet.verbs():
        if verb not in dict(facts["verbs"]):
            assert not made.can(verb)


def test_a_verb_that_a_kind_lacks_is_refused_with_those_that_have_it() -> None:
    with pytest.raises(bouquet.UnsupportedError, match="kind `standard` cannot count keys; kinds that can: counting"):
        bouquet.Bloom(items=10).count("rose")


def test_settings_are_keywords_with_underscores() -> None:
    made = bouquet.Iblt(items=10, value_bytes=4)
    assert made.settings["value_bytes"] == 4
    assert bouquet.Bloom(items=1e6, fpr=None) == bouquet.Bloom(items=1_000_000)
    with pytest.raises(bouquet.ParameterError, match="kind `cuckoo` has no parameter `colour`; it has items"):
        bouquet.Cuckoo(items=10, colour="red")
    with pytest.raises(TypeError, match="by name"):
        bouquet.Cuckoo(10)
    with pytest.raises(bouquet.UnknownKindError, match="did you mean `cuckoo`"):
        bouquet.Filter("cukoo", items=10)


def test_hashing_is_chosen_by_keywords() -> None:
    one, other = bouquet.Bloom(items=100, seed=1), bouquet.Bloom(items=100, seed=2)
    with pytest.raises(bouquet.IncompatibleError):
        one |= other
    secret = bouquet.random_secret()
    keyed = bouquet.Bloom(items=100, secret=secret)
    keyed.add("rose")
    assert keyed.is_keyed and not one.is_keyed
    with pytest.raises(bouquet.SecretError):
        bouquet.from_bytes(keyed.to_bytes())
    with pytest.raises(bouquet.SecretError, match="not pickled"):
        pickle.dumps(keyed)
    assert "rose" in bouquet.from_bytes(keyed.to_bytes(), secret=secret)


def test_verbs_of_single_kinds() -> None:
    counting = bouquet.Counting(items=100)
    counting.add_many(["rose"] * 3 + ["lily"])
    assert counting["rose"] == counting.count("rose") == 3 and counting.multiplicity("lily") == (1, False)
    assert counting.count_many(["rose", None, "lily"]).tolist() == [3, 0, 1]
    del counting["lily"]
    assert "lily" not in counting and counting.discard("lily") is False
    with pytest.raises(bouquet.NotPresentError) as caught:
        counting.remove("lily")
    assert isinstance(caught.value, KeyError) and str(caught.value) == "the key is not in the filter; nothing was changed"
    assert counting.remove_many(["rose", "lily", "rose"]) == 2 and len(counting) == 1

    table = bouquet.Iblt(items=100, value_bytes=3)
    table.add("rose", b"red")
    assert list(table) == [b"rose"] and table.list().entries == [(b"rose", b"red", 1)]
    assert table["rose"] == b"red" and table.get("lily", "none") == "none" and table.get_many(["rose", "lily"]) == [b"red", None]
    other = table.empty()
    other.add("lily", b"wht")
    assert {entry.key for entry in table.difference(other).entries} == {b"rose", b"lily"}

    petals = bouquet.Bloomier.build(["rose", "lily"], notes=[5, 6], mode="mutable")
    assert petals["rose"] == 5 and petals.get_many(["lily"]) == [6]
    petals["rose"] = 7
    assert petals["rose"] == 7
    with pytest.raises(bouquet.UnsupportedError, match="bloomier with mode=mutable"):
        bouquet.Bloomier.build(["rose"], notes=[5])["rose"] = 6

    bank = bouquet.FilterBank(sets=3, items=100)
    bank.add("rose", 2)
    bank.add_many(["lily", "iris"], notes=[0, 1])
    assert bank.classify("rose") == [2] and bank.classify_many(["lily", "iris"]) == [[0], [1]]
    with pytest.raises(bouquet.ItemError):
        bank.add("rose")
    with pytest.raises(bouquet.ItemError, match="keys alone"):
        bouquet.Bloom(items=10).add("rose", 3)

    stable = bouquet.Stable(items=100)
    stable.advance(3)
    sketch = bouquet.CountMin(width=256, rows=4, top=3)
    sketch.add_many(["rose"] * 5 + ["lily"] * 2)
    assert sketch.top(1) == [(b"rose", 5, False)]


def test_verdicts_and_probabilities() -> None:
    flowers = bouquet.Complement.build(["rose", "lily"], absent=["oak", "elm"], fpr=0.001)
    assert flowers.judge("rose") == "in" and flowers.judge("elm") == "out"
    assert flowers.judge_many(["lily", "oak", None]) == ["in", "out", "unknown"]
    seen = bouquet.Weighted(items=100)
    seen.add("rose")
    assert seen.probability("lily", prior=0.5) == 0.0 and seen.probability("rose", prior=0.5) > 0.9
    told = seen.probability_many(["rose", None, "lily"], prior=0.5)
    assert told[0] == seen.probability("rose", prior=0.5) and told[1] != told[1] and told[2] == 0.0
    with pytest.raises(bouquet.ParameterError, match="prior"):
        seen.probability("rose", prior=1.5)


def test_filters_that_forget_keep_pace_with_a_clock() -> None:
    recent = bouquet.TemporalCounting(items=100)
    recent.set_pace(60, since=0)
    recent.add("rose")
    assert recent.pace == (0, 60) and recent.catch_up(14 * 60) == 14 and "rose" in recent
    assert bouquet.from_bytes(recent.to_bytes()).pace == recent.pace
    assert recent.catch_up(15 * 60 + 30) == 1 and "rose" not in recent
    recent.set_pace(None)
    assert recent.pace is None and recent.catch_up() == 0
    with pytest.raises(ValueError, match="at least one second"):
        recent.set_pace(0)


def test_questions_of_one_kind_are_methods() -> None:
    cuckoo = bouquet.Cuckoo(items=100)
    cuckoo.add("rose")
    assert cuckoo.fingerprints() == cuckoo.ask("fingerprints")
    with pytest.raises(bouquet.UnsupportedError, match="it has fingerprints"):
        cuckoo.ask("petals")
    with pytest.raises(TypeError, match="takes nothing"):
        cuckoo.ask("fingerprints", 3)


def test_algebra(flowers: bouquet.Filter) -> None:
    others = bouquet.Bloom(items=1000, fpr=0.001)
    others.update(["lily", "iris"])
    union, common = flowers | others, flowers & others
    assert "rose" in union and "iris" in union and "lily" in common and "rose" not in common
    assert flowers.union(others) == union and flowers.intersection(others) == common
    flowers |= others
    assert flowers == union
    flowers.update(["tulip"], others)
    assert "tulip" in flowers
    overlap = union.estimate(others)
    assert abs(overlap.union.keys - 3) < 1 and 0 < overlap.jaccard < 1
    assert abs(union.estimate().keys - 3) < 1
    flowers.merge(flowers)
    with pytest.raises(bouquet.IncompatibleError):
        flowers.merge(bouquet.Cuckoo(items=100))
    with pytest.raises(TypeError):
        flowers | {"rose"}
    assert (flowers == "rose") is False
    with pytest.raises(TypeError):
        hash(flowers)


def test_sizes_are_planned_without_making_a_filter() -> None:
    plan = bouquet.size("standard", items=1000, fpr=0.01)
    assert plan.bits == bouquet.Bloom(items=1000, fpr=0.01).stats().bits and plan.hashes == 7
    assert "## Settings" in bouquet.explain("BF")
    assert [kind.id for kind in bouquet.kinds("list")]
    with pytest.raises(ValueError, match="there is no verb"):
        bouquet.kinds("sing")


@pytest.mark.parametrize("name", ["error_rate", "approx_items", "query", "jaccard_index", "get_estimate"])
def test_names_of_other_packages_say_what_to_type_instead(flowers: bouquet.Filter, name: str) -> None:
    with pytest.raises(AttributeError, match="here that is"):
        getattr(flowers, name)


def test_patches_and_foreign_formats(flowers: bouquet.Filter) -> None:
    newer = flowers.copy()
    newer.add("iris")
    assert flowers.patched(flowers.delta(newer)) == newer
    names = [name for name, _ in bouquet.formats()]
    assert "redisbloom" in names
    with pytest.raises(bouquet.ParameterError):
        flowers.to_foreign(names[0])
    theirs = bouquet.Filter("redis-bloom", items=100)
    theirs.add("rose")
    assert "rose" in bouquet.from_foreign("redisbloom", theirs.to_foreign("redisbloom"))
