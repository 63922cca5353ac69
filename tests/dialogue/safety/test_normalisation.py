import pytest

from dialogue.safety.normalisation import fold, sentences


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("", ""),
        ("  A  b\n", "a b"),
        ("Don’t!!!", "dont!"),
        ("I don't", "i dont"),
        ("Ｉ want to ｄｉｅ", "i want to die"),
        ("k1ll mys3lf", "kill myself"),
        ("k*ll, su!c1de", "kill, suicide"),
        ("d.i.e", "die"),
        ("i w a n t t o d i e", "i want to die"),
        ("I want to diiiie", "i want to die"),
        ("want 2 die tmrw, abt u", "want to die tomorrow, about you"),
        ("at 4:30 we were 2-1 up", "at 4:30 we were 2-1 up"),
        ("the price is 3.50 for a 4x4", "the price is 3.50 for a 4x4"),
        ("👍 ok", "👍 ok"),
        ("took my 💊", "took my pills"),
        ("ki\u200bll", "kill"),
        ("我想４", "我想死"),
        ("我想紫砂", "我想自杀"),
        ("妳還好嗎", "你还好吗"),
        ("我唔想返工，好攰", "我不想上班,好累"),
        ("佢哋關係好，打電話畀我啦", "他们关系好,打电话给我啦"),
        ("啱啱鎅咗手", "刚刚割了手"),
        ("天台門冇鎖，我企喺邊度", "天台门没有锁,我站在哪里"),
        ("返老家的话，先晒被子", "返老家的话,先晒被子"),
        ("想死死死死", "想死死"),
        ("我考了4分", "我考了4分"),
    ],
)
def test_text_is_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_a_folded_text_stays_as_it_is() -> None:
    once = fold("I DON'T wanna l1ve… 我 想４了！！")
    assert fold(once) == once


def test_sentences_end_at_signs_and_lines() -> None:
    assert sentences(fold("One. Two!\nThree？四。")) == ["one", "two", "three", "四"]
