from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.providers.base import Message
from dialogue.providers.prices import (
    FREE,
    USUAL_OUTPUT,
    Price,
    PriceFileError,
    Prices,
    estimate_tokens,
    format_amount,
    load_prices,
)

SHIPPED = Path(__file__).resolve().parents[3] / "fixtures" / "prices.toml"
HEAD = 'version = "2026-03-01"\ncurrency = "USD"\n'
TODAY = date(2026, 3, 1)
PRICE = Price(Decimal("2.5"), Decimal("1.25"), Decimal(10), "2026-03-01", "USD")

Amounts = st.decimals(0, 100, places=4)
Tokens = st.integers(0, 10**7)


def written(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


def model(name: str, amount: float = 1, since: str = '"2026-01-01"', more: str = "") -> str:
    return f'[[models]]\nmodel = "{name}"\nsince = {since}\ninput = {amount}\noutput = {amount}\n{more}\n'


def loaded(folder: Path, *models: str) -> Prices:
    return load_prices(written(folder, HEAD + "".join(models)))


def asked(prices: Prices, name: str, base_url: str = "https://a.example/v1", on: date = TODAY) -> Decimal | None:
    """The price of a million tokens read; each model of the table has its own."""
    price = prices.price_of(name, base_url, on)
    return price.input if price else None


# What a call costs.


@pytest.mark.parametrize(
    ("tokens", "cost"),
    [
        ((1_000_000, 1_000_000), "12.5"),
        ((1000, 100), "0.0035"),
        ((1000, 100, 400), "0.003"),  # 600 × 2.5 + 400 × 1.25 + 100 × 10, by a million
        ((1000, 0, 1000), "0.00125"),
        ((1000, 0, 5000), "0.00125"),
        ((1000, 0, None), "0.0025"),
        ((1, 0), "0.000003"),  # 0.0000025, half up
        ((0, 0), "0"),
    ],
)
def test_cost_is_that_of_the_tokens(tokens: tuple[int, ...], cost: str) -> None:
    assert PRICE.cost(*tokens) == Decimal(cost)


def test_cost_has_six_digits() -> None:
    assert str(PRICE.cost(4, 0)) == "0.000010"
    assert str(FREE.cost(None, None)) == "0.000000"


@pytest.mark.parametrize("tokens", [(None, 5), (5, None), (None, None)])
def test_cost_of_unknown_tokens_is_unknown(tokens: tuple[int | None, int | None]) -> None:
    assert PRICE.cost(*tokens) is None


@pytest.mark.parametrize("tokens", [(None, None), (10**9, 10**9)])
def test_what_is_free_costs_nothing_whatever_its_tokens(tokens: tuple[int | None, int | None]) -> None:
    assert FREE.cost(*tokens) == 0
    assert FREE.reserve(10**9, None) == 0


def test_reserve_is_the_whole_length() -> None:
    assert PRICE.reserve(1000, 400) == Decimal("0.0065")
    assert PRICE.reserve(0, None) == USUAL_OUTPUT * Decimal("0.00001")
    assert PRICE.reserve(1, 0) == Decimal("0.000003")


@given(Amounts, Amounts, Amounts, Tokens, Tokens, Tokens, Tokens)
def test_reserve_is_never_below_the_cost(
    read: Decimal, cached: Decimal, written: Decimal, inputs: int, outputs: int, hits: int, more: int
) -> None:
    price = Price(read, cached, written, "v", "USD")
    cost = price.cost(inputs, outputs, hits)
    assert cost is not None
    assert 0 <= cost <= price.reserve(inputs, outputs + more)


# Which price it is.


def test_whole_name_comes_before_the_longest_beginning(tmp_path: Path) -> None:
    prices = loaded(tmp_path, model("*", 1), model("big-*", 2), model("big-mini*", 3), model("big-mini", 4))
    names = ["small", "big-one", "big-mini-2", "big-mini"]
    assert [asked(prices, name) for name in names] == [1, 2, 3, 4]


def test_newest_price_that_has_begun_holds(tmp_path: Path) -> None:
    prices = loaded(tmp_path, model("m", 3, '"2026-03-02"'), model("m", 1), model("m", 2, "2026-02-01"))
    days = [date(2025, 12, 31), date(2026, 1, 1), date(2026, 2, 1), date(2026, 3, 1), date(2026, 3, 2)]
    assert [asked(prices, "m", on=day) for day in days] == [None, 1, 2, 2, 3]


def test_whole_name_that_has_not_begun_leaves_the_beginning(tmp_path: Path) -> None:
    prices = loaded(tmp_path, model("m", 9, '"2026-04-01"'), model("m*", 1))
    assert asked(prices, "m") == 1


def test_price_of_a_server_comes_before_that_of_any(tmp_path: Path) -> None:
    local = 'base_url = "http://127.0.0.1:8000/v1/"'
    prices = loaded(tmp_path, model("m", 5), model("*", 0, more=local))
    assert asked(prices, "m", "http://127.0.0.1:8000/v1") == 0
    assert asked(prices, "m", "http://127.0.0.1:8000/v1/") == 0
    assert asked(prices, "m", "http://127.0.0.1:8001/v1") == 5
    assert asked(prices, "other", "http://127.0.0.1:8001/v1") is None


def test_price_knows_its_table(tmp_path: Path) -> None:
    prices = loaded(tmp_path, model("m", 0.15, more="cached_input = 0.075"))
    price = Price(Decimal("0.15"), Decimal("0.075"), Decimal("0.15"), "2026-03-01", "USD")
    assert prices.price_of("m", "", TODAY) == price
    assert (prices.version, prices.currency) == ("2026-03-01", "USD")


def test_cached_input_costs_as_input_where_left_out(tmp_path: Path) -> None:
    price = loaded(tmp_path, model("m", 2)).price_of("m", "", TODAY)
    assert price is not None
    assert price.cached_input == 2


def test_version_may_be_a_day(tmp_path: Path) -> None:
    assert load_prices(written(tmp_path, 'version = 2026-03-01\ncurrency = "CNY"')).version == "2026-03-01"


def test_shipped_file_has_no_price_and_its_example_is_right(tmp_path: Path) -> None:
    assert load_prices(SHIPPED).entries == ()
    text = SHIPPED.read_text(encoding="utf-8")
    example = "\n".join(line.removeprefix("# ") for line in text[text.index("# [[models]]") :].splitlines())
    entries = load_prices(written(tmp_path, HEAD + example[: example.index("version =")])).entries
    assert [entry.model for entry in entries] == ["an-invented-model-*", "*"]
    assert (entries[0].price.input, entries[1].price.output) == (Decimal("1.25"), 0)


# What can be wrong with the file.


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        'currency = "dollars"\nprice = 1\n'
        + model("a*b", 1, '"soon"')
        + '[[models]]\nmodel = 7\ninput = -1\noutput = "5"\ncached_input = inf\ninputs = 1\n'
        + model("ok")
        + model("ok", 2)
        + '[[models]]\nmodel = " "\nsince = "2026-01-01"\nbase_url = ""\ninput = true\noutput = nan\n',
    )
    with pytest.raises(PriceFileError) as caught:
        load_prices(path)
    amount = "must be a number from 0 on, for a million tokens"
    assert str(caught.value).splitlines() == [
        f"{path}: {fault}"
        for fault in [
            "price: unknown key",
            "version: is missing",
            "currency: must be three capital letters, as in ISO 4217",
            "models.1.model: may have a * at its end only",
            "models.1.since: must be a day, as 2026-01-31",
            'models.2.inputs: unknown key; did you mean "input"?',
            f"models.2.input: {amount}",
            f"models.2.cached_input: {amount}",
            f"models.2.output: {amount}",
            "models.2.model: must be text",
            "models.2.since: is missing",
            "models.4: has the model, base_url and since of models.3",
            f"models.5.input: {amount}",
            f"models.5.output: {amount}",
            "models.5.model: is missing",
            "models.5.base_url: is missing",
        ]
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (HEAD + "[models]\na = 1", "models: must be tables, each under [[models]]"),
        ("version = ", "not valid TOML: Invalid value (at end of document)"),
        (f'version = "{"x" * 41}"\ncurrency = "USD"', "version: must be at most 40 characters"),
        (f"version = {'9' * 5000}", "not valid TOML: a number is too long, or tables are nested too deeply"),
        (f"version = {'[' * 5000}", "not valid TOML: a number is too long, or tables are nested too deeply"),
    ],
)
def test_fault_is_told(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(PriceFileError) as caught:
        load_prices(written(tmp_path, text))
    assert caught.value.faults == [fault]


def test_file_that_is_not_utf_8_is_to_be_saved_so(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_bytes('version = "é"'.encode("latin-1"))
    with pytest.raises(PriceFileError) as fault:
        load_prices(path)
    assert str(fault.value) == f"{path}: is not UTF-8: save it so"


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "0.00"),
        ("12.5", "12.50"),
        ("0.1", "0.10"),
        ("0.0123", "0.012"),
        ("0.0012", "0.0012"),
        ("0.000001", "0.000001"),
        ("1.7e-18", "0.00"),
        ("-1.7e-18", "0.00"),
    ],
)
def test_small_amounts_are_shown_with_two_digits(amount: str, shown: str) -> None:
    assert format_amount(Decimal(amount)) == shown


def test_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(PriceFileError, match="cannot be read"):
        load_prices(tmp_path / "absent.toml")


# Estimates.


@pytest.mark.parametrize(
    ("texts", "tokens"),
    [
        ([], 0),
        ([""], 4),
        (["a" * 400], 104),
        (["我" * 150], 104),
        (["我" * 150 + "a" * 400], 204),
        (["a" * 401], 105),
        (["。" * 3, "が" * 3, "한" * 3], 18),
        (["é" * 40], 23),
    ],
)
def test_tokens_are_estimated_by_characters(texts: list[str], tokens: int) -> None:
    assert estimate_tokens([Message("user", text) for text in texts]) == tokens


# Batches


def test_batch_has_its_own_price_and_no_reduction_for_what_was_read_before(tmp_path: Path) -> None:
    price = loaded(tmp_path, model("m", 4, more="cached_input = 1\nbatch_input = 2\nbatch_output = 3")).price_of(
        "m", "", TODAY
    )
    assert price is not None
    assert price.cost(1_000_000, 1_000_000, 1_000_000) == Decimal(5)
    assert price.in_batch().cost(1_000_000, 1_000_000, 1_000_000) == Decimal(5)
    assert (price.in_batch().input, price.in_batch().cached_input, price.in_batch().output) == (2, 2, 3)


def test_batch_costs_the_same_where_the_table_does_not_say_otherwise(tmp_path: Path) -> None:
    price = loaded(tmp_path, model("m", 4)).price_of("m", "", TODAY)
    assert price is not None
    assert price.in_batch() == price


@pytest.mark.parametrize(("given", "missing"), [("batch_input", "batch_output"), ("batch_output", "batch_input")])
def test_price_of_batches_is_whole(tmp_path: Path, given: str, missing: str) -> None:
    with pytest.raises(PriceFileError) as error:
        loaded(tmp_path, model("m", 4, more=f"{given} = 1"))
    assert error.value.faults == [f"models.1.{missing}: is missing"]
