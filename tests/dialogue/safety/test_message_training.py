"""How the classifiers are fitted, and how their weights are kept."""

import json
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from dialogue.safety import message_classifier, reply_classifier
from dialogue.safety.features import find_features
from dialogue.safety.fitting import Outcome, calibrate, fit, move, read_features
from dialogue.safety.message_classifier import chance_of, chances_of, odds_of
from dialogue.safety.weights import (
    ALONE,
    GROWING,
    LARGEST,
    LONG,
    Weights,
    discount_length,
    make_weights,
    read_weights,
    write_weights,
)

GRAVE = ["i want to jump tonight", "tonight i jump from the roof", "i will jump", "jump and be gone", "maybe i jump"]
CALM = [
    "i want to sleep tonight",
    "tonight i sleep at the office",
    "i will sleep",
    "sleep and be late",
    "maybe i sleep",
]


PLACES = 1 << 14


def fitted() -> Weights:
    is_true = np.array([True] * len(GRAVE) + [False] * len(CALM))
    return fit(read_features([*GRAVE, *CALM], "en", PLACES), [Outcome(is_true, np.ones(len(is_true)))])


def odds(text: str, weights: Weights) -> float:
    return float(weights.log_odds([text], "en")[0])


def test_a_fit_learns_which_words_tell_the_texts_apart() -> None:
    weights = fitted()
    assert odds("they say i should jump", weights) > 0.2 > -0.2 > odds("they say i should sleep", weights)


def test_a_text_of_unknown_words_has_the_intercept_alone() -> None:
    weights = fitted()
    assert odds("umbrella", weights) == float(weights.intercepts[0])


def test_a_feature_of_one_text_has_its_weight() -> None:
    [numbers] = fitted().numbers
    assert numbers[crc32(b"roof") % PLACES] > 0 > numbers[crc32(b"office") % PLACES]


def test_features_whose_checksums_end_alike_share_a_place() -> None:
    weights = Weights(np.zeros(1), np.array([[0, 7]], dtype=np.int8), np.ones(1))
    odd = sum(checksum % 2 for checksum in find_features("i jump", "en"))
    assert odds("i jump", weights) == 7 * odd


def test_the_sum_of_a_long_text_counts_for_less() -> None:
    assert discount_length("i want to jump", "en") == discount_length(" ".join(["jump"] * LONG), "en") == 1
    assert discount_length(" ".join(["jump"] * 4 * LONG), "en") == 0.5
    assert discount_length("好" * 4 * LONG, "zh") == 0.5


def test_a_sentence_must_say_more_than_the_whole_text() -> None:
    weights = fitted()._replace(steps=fitted().steps * 10)
    calm = ["i sleep"] * 8
    assert odds("i jump", weights) == pytest.approx(float(weights.log_odds(["i jump", *calm], "en")[0]) + ALONE)
    assert weights.log_odds(["i want", "to jump"], "en")[0] == odds("i want . to jump", weights)
    assert weights.log_odds(["i jump", *calm], "en", alone=0)[0] == odds("i jump", weights)


def test_a_growing_text_must_say_more_than_a_whole_one() -> None:
    weights = fitted()
    assert weights.log_odds(["i jump"], "en", growing=True)[0] == pytest.approx(odds("i jump", weights) - GROWING)


def test_a_text_without_sentences_has_no_chance() -> None:
    two_outcomes = fitted()._replace(intercepts=np.zeros(2))
    assert chances_of([], "en", two_outcomes).three == 0


def test_calibration_lets_the_share_of_calm_texts_reach_the_limit() -> None:
    chance = np.random.default_rng(1)
    is_true = np.arange(2000) % 2 == 0
    found = 3 * chance.normal(np.where(is_true, 1.0, -1.0))
    line = calibrate(found, is_true, calm=~is_true, share=0.05, limit=0.64)
    reached = line.at(found) >= odds_of(0.64) - 1e-9
    assert reached[~is_true].mean() == 0.051  # 50 of 1,000 lie above the limit, and one on it
    assert reached[is_true].mean() > 0.3
    assert line.slope > 0


def test_moved_weights_give_the_log_odds_on_the_line() -> None:
    weights = fitted()
    line = calibrate(
        np.array([-2.0, -1, 1, 2]), np.array([0, 1, 0, 1]) > 0, calm=np.array([1, 0, 1, 0]) > 0, share=0.5, limit=0.5
    )
    for text in GRAVE:
        assert np.isclose(odds(text, move(weights, [line])), line.at(np.array(odds(text, weights))))


def test_weights_read_back_are_the_weights_that_were_written(tmp_path: Path) -> None:
    weights = fitted()
    write_weights(tmp_path / "a.npz", "9.9", {"en": weights})
    version, languages = read_weights(tmp_path / "a.npz")
    assert version == "9.9"
    assert [np.array_equal(one, other) for one, other in zip(languages["en"], weights, strict=True)] == [True] * 3


def test_the_same_weights_make_the_same_file(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_weights(tmp_path / name, "1", {"en": fitted()})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_weights_are_rounded_to_steps_of_the_largest() -> None:
    weights = make_weights(np.zeros(1), np.array([[LARGEST / 10, -0.52, 0.04, 0]]))
    assert weights.numbers.tolist() == [[LARGEST, -5, 0, 0]]
    assert weights.steps == pytest.approx([0.1])


def test_chances_and_log_odds_are_inverse() -> None:
    assert np.isclose(chance_of(odds_of(0.64)), 0.64)


def checksums(*features: str) -> set[int]:
    return {crc32(feature.encode()) for feature in features}


def test_runs_of_plain_words_alone_are_no_features() -> None:
    found = find_features("it is so that i jump", "en")
    assert checksums("jump", "i", "i jump", "that i jump", "that * jump", "i_jump", "jump >") <= found
    assert found.isdisjoint(checksums("it", "it is", "is so that", "it * so", "< it"))


def test_features_of_english_are_words_their_beginnings_and_runs_of_groups() -> None:
    found = find_features("jumping off the bridge tonight", "en")
    assert checksums("jumping", "^jump", "^jumpin", "jumping__tonight", "< jumping off") <= found
    assert checksums("#place", "the #place", "#place #now", "#place+#now") <= found


def test_features_of_chinese_are_runs_of_characters_and_groups() -> None:
    found = find_features("今晚，跳楼", "zh")
    assert checksums("今", "晚跳", "今晚跳楼", "<今晚跳", "楼>", "#now", "#now+#kill") <= found
    assert found.isdisjoint(checksums("，", "今晚跳楼>"))


def test_the_cards_describe_the_weights() -> None:
    for path in (message_classifier.WEIGHTS, reply_classifier.WEIGHTS):
        version, languages = read_weights(path)
        assert json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["version"] == version
        assert set(languages) == {"en", "zh"}
