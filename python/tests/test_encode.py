"""Python values as JSON that keeps their kinds."""

import collections
import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid

import pydantic
import pytest

import gatelog


class Color(enum.Enum):
    RED = "r"


class Level(enum.IntEnum):
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int
    y: tuple


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str
    when: datetime.date


Pair = collections.namedtuple("Pair", "a b")


class Word(str):
    def __repr__(self):
        return "a lie"

    __str__ = __repr__


class Number(int):
    def __repr__(self):
        return "0"


M = __name__
ORDERED = collections.OrderedDict([("b", 1), (2, "a")])

ROWS = [
    (None, "null"),
    (True, "true"),
    (5, "5"),
    (5.0, "5.0"),
    (10**40, str(10**40)),
    (1e16, "1e+16"),
    (0.1, "0.1"),
    (-0.0, "-0.0"),
    ("é\u2028", '"é\u2028"'),
    ([1, [2]], "[1,[2]]"),
    ({"b": 1, "a": {"c": 2}}, '{"a":{"c":2},"b":1}'),
    ((1, 2), '{"tuple":[1,2]}'),
    ({3, 1, 2}, '{"set":[1,2,3]}'),
    (frozenset({"b", "a"}), '{"frozenset":["a","b"]}'),
    (b"\xff\x00", '{"bytes":"/wA="}'),
    (bytearray(b"ab"), '{"bytearray":"YWI="}'),
    ("\ud800x", '{"surrogates":"7aCAeA=="}'),
    (ORDERED, '{"py:collections:OrderedDict":[["b",1],[2,"a"]]}'),
    (Color.RED, f'{{"py:{M}:Color":{{"enum":"RED","value":"r"}}}}'),
    (Level.HIGH, f'{{"py:{M}:Level":{{"enum":"HIGH","value":3}}}}'),
    (Point(1, (2,)), f'{{"py:{M}:Point":{{"x":1,"y":{{"tuple":[2]}}}}}}'),
    (
        Model(name="n", when=datetime.date(2026, 1, 2), more=1),
        f'{{"py:{M}:Model":{{"more":1,"name":"n","when":{{"py:datetime:date":"2026-01-02"}}}}}}',
    ),
    (
        datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.timezone.utc),
        '{"py:datetime:datetime":"2026-01-02T03:04:05.000006+00:00"}',
    ),
    (datetime.timedelta(days=-1, seconds=5), '{"py:datetime:timedelta":"-1d5s0us"}'),
    (decimal.Decimal("1.10"), '{"py:decimal:Decimal":"1.10"}'),
    (uuid.UUID(int=1), '{"py:uuid:UUID":"00000000-0000-0000-0000-000000000001"}'),
    (pathlib.PurePosixPath("/a/b"), '{"py:pathlib:PurePosixPath":"/a/b"}'),
    (1 + 2j, '{"py:builtins:complex":[1.0,2.0]}'),
    (Pair(1, 2), f'{{"py:{M}:Pair":[1,2]}}'),
    # What a class says of itself does not count.
    (Word("truth"), f'{{"py:{M}:Word":"truth"}}'),
    (Number(7), f'{{"py:{M}:Number":7}}'),
    # No data passes for one of these.
    ({"tuple": [1]}, '{"py:builtins:dict":{"s:tuple":[1]}}'),
    ({"py:x:y": 1}, '{"py:builtins:dict":{"s:py:x:y":1}}'),
    ({"tuple": [1], "other": 2}, '{"other":2,"tuple":[1]}'),
    (
        {1: "c", None: "b", b"d": "d", (1,): "e", "s": "f", 2.5: "g"},
        '{"py:builtins:dict":{"b:ZA==":"d","i:1":"c","n:":"b","o:2.5":"g","o:{\\"tuple\\":[1]}":"e","s:s":"f"}}',
    ),
]


@pytest.mark.parametrize("value, text", ROWS, ids=range(len(ROWS)))
def test_every_value_has_one_text(value, text):
    assert gatelog.encode(value) == text
    json.loads(text)


def test_metadata_has_typed_keys_and_is_ascii():
    rows = [
        ({"text": "é", "n": {"a": 1}}, '{"s:n":{"s:a":1},"s:text":"\\u00e9"}'),
        ({1: "\U0001f600", "1": 2}, '{"i:1":"\\ud83d\\ude00","s:1":2}'),
        ({"tuple": (1,)}, '{"s:tuple":{"tuple":[1]}}'),
        ({False: 0, b"\x00": 1}, '{"b:AA==":1,"bool:false":0}'),
        (ORDERED, '{"py:collections:OrderedDict":[["b",1],[2,"a"]]}'),
        (Point(1, ()), f'{{"py:{M}:Point":{{"s:x":1,"s:y":{{"tuple":[]}}}}}}'),
    ]
    for value, text in rows:
        assert gatelog.encode_metadata(value) == text


class Odd:
    @property
    def __class__(self):
        return dict


loop: list = []
loop.append(loop)


@pytest.mark.parametrize(
    "value, why",
    [
        ({"a": [1, float("nan")]}, "`a/1`: nan is not a finite number"),
        ({"a": float("-inf")}, "-inf is not a finite number"),
        (object(), "a value of `builtins.object` cannot be written"),
        ({"x": {"y": len}}, "`x/y`: a value of `builtins.builtin_function_or_method`"),
        (Odd(), "Odd` cannot be written"),
        (loop, "nested deeper than 128 levels, or it holds itself"),
        (10**5000, "too many digits"),
        ({(): 1, object: 2}, "builtins.type"),
    ],
    ids=range(8),
)
def test_what_cannot_be_written_is_refused_with_its_place(value, why):
    with pytest.raises(gatelog.EncodingError) as caught:
        gatelog.encode(value)
    assert why in str(caught.value)


def test_a_value_whose_own_code_fails_raises_its_own_error():
    class Fails:
        __dataclass_fields__ = {"x": None}

        @property
        def x(self):
            raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        gatelog.encode(Fails())


def test_pickled_rows_and_values_have_one_form():
    """The reader of session databases writes the same wrappers."""
    value = {"when": datetime.datetime(2026, 1, 2, 3, 4, 5), "left": datetime.timedelta(1, 2, 3), "many": (1, {2})}
    assert gatelog.encode(value) == (
        '{"left":{"py:datetime:timedelta":"1d2s3us"},"many":{"tuple":[1,{"set":[2]}]},'
        '"when":{"py:datetime:datetime":"2026-01-02T03:04:05"}}'
    )
