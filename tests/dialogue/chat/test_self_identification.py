"""Sentences in which a language model names itself or its maker, and others with the same words in them."""

import json
import string
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogue.chat import self_identification
from dialogue.chat.self_identification import NAMING, load_lexicon, mask, names_itself, whole_sentences
from tests.amounts import choose

DATA: dict[str, Any] = json.loads(NAMING.read_text(encoding="utf-8"))
STUDY = (
    "doubao-1-5-pro-32k-250115",
    "Volcano Engine",
    "Doubao-Pro",
    "Qwen/Qwen2.5-72B-Instruct",
    "Alibaba Cloud",
    "gpt-4o",
    "GPT-4o",
    "OpenAI",
    "deepseek-reasoner",
    "our own institution",
    "Nowhere Labs",
    "Warm listener",
    "SoulX",
    "小舟",
    "Sage",
)

# Each with what is shown in its place.
MASKED = [
    ("I am ChatGPT.", "I am an AI program."),
    ("I'm Claude, an AI model made by Anthropic.", "I'm an AI program, an AI model made by an AI company."),
    ("I’m **Claude**, made by **Anthropic**.", "I’m **an AI program**, made by **an AI company**."),
    ("As a language model trained by OpenAI, I rest.", "As a language model trained by an AI company, I rest."),
    ("My developers at DeepSeek care about this.", "My developers at an AI company care about this."),
    ("This is Qwen speaking.", "This is an AI program speaking."),
    ("OpenAI trained me to listen.", "An AI company trained me to listen."),
    ("ChatGPT here, still listening.", "An AI program here, still listening."),
    ("My name is Claude.", "My name is AI."),
    ("You can call me Kimi if you like.", "You can call me AI if you like."),
    ("I'm an OpenAI model.", "I'm an AI model."),
    ("I am a GPT-4-based assistant.", "I am an AI-based assistant."),
    ("I'm your Claude.", "I'm your AI program."),
    ("I'm the AI assistant Spark, and I'm here.", "I'm the AI assistant, and I'm here."),
    ("I'm Anthropic's Claude.", "I'm an AI program."),
    ("I'm one of Anthropic's models.", "I'm one of an AI company's models."),
    ("I was made by the French company Mistral AI.", "I was made by an AI company."),
    ("I was made by OpenAI, Inc. in a lab.", "I was made by an AI company. in a lab."),
    ("I'm DeepSeek-R1, made by DeepSeek (深度求索).", "I'm an AI program, made by an AI company."),
    ("I'm no ChatGPT, but I do listen.", "I'm no AI program, but I do listen."),
    ("I run on GPT-4o mini, with breaks.", "I run on an AI program, with breaks."),
    ("I'm Claude 3.7 Sonnet. You are safe.", "I'm an AI program. You are safe."),
    ("You asked about Claude. I'm Gemini.", "You asked about Claude. I'm an AI program."),
    ("我是通义千问。", "我是一个AI程序。"),
    ("我是豆包，您可以慢慢说。", "我是一个AI程序，您可以慢慢说。"),
    ("作为由阿里云开发的大语言模型，我没有身体。", "作为由一家AI公司开发的大语言模型，我没有身体。"),
    ("我由深度求索（DeepSeek）开发。", "我由一家AI公司开发。"),
    ("OpenAI 训练了我。", "一家AI公司训练了我。"),
    ("我是 Claude，由 Anthropic 开发的助手。", "我是一个AI程序，由一家AI公司开发的助手。"),
    ("我叫Kimi，很高兴认识您。", "我叫AI，很高兴认识您。"),
    ("我是一个GPT-4模型。", "我是一个AI模型。"),
    ("我是讯飞星火认知大模型。", "我是一个AI认知大模型。"),
    ("我是阿里云的通义千问。", "我是一个AI程序。"),
    ("我是由中国的深度求索公司训练的。", "我是由一家AI公司训练的。"),
    ("我是智能助手DeepSeek-R1。", "我是智能助手。"),
    ("我的开发者是月之暗面科技有限公司。", "我的开发者是一家AI公司。"),
    ("您问到了豆包。我是Kimi。", "您问到了豆包。我是一个AI程序。"),
    ("—— 通义千问", "—— 一个AI程序"),
]  # fmt: skip

ENGLISH = """
I am Gemini, and I'm listening.
I'm not GPT-4, but I can stay with you.
I'm just ChatGPT, so I cannot call her.
i'm claude, by the way.
Nice to meet you, I'm Kimi!
Hello! I'm ERNIE Bot.
I'm Yi, an AI assistant.
I'm Google's language model.
I am a Meta language model and know no sleep.
I'm "ChatGPT".
I'm GPT‑4o, to be honest.
I'm Llama 3.1, a model by Meta.
I'm an AI companion called Gemini.
I'm an AI language model, specifically GPT-4.
I'm an LLM (Llama 3).
I'm your AI companion, Doubao.
I'm an AI like ChatGPT.
I'm based on GPT-4o under the hood.
I'm powered by Claude.
I belong to OpenAI.
I was trained by OpenAI.
I've been built by xAI to be of use.
I was developed and tested by a team of researchers at Google.
I'm an AI assistant created in 2023 by Baidu.
I am a language model from Microsoft.
I'm only a chatbot that was designed by Zhipu AI.
As Claude, I can only write.
As Claude (an AI by Anthropic), I can only write.
As ChatGPT, I have read many such stories.
Even as ChatGPT, I find this hard to answer.
As an AI from Anthropic, I want to be honest with you.
As Google's language model, I do not feel pain.
As an AI (specifically, Claude by Anthropic), I cannot see you.
As an OpenAI model, I forget what was said last week.
My creator is OpenAI.
My makers, the people at Anthropic, hoped for this.
My underlying model is Qwen2.5-72B.
My training at DeepMind prepared me for this.
The people who made me at Mistral AI are far away.
The company behind me is Baidu.
The model behind me is Claude.
Anthropic, the company that created me, reads none of this.
The engineers of Google? No: Google built me.
Since OpenAI trained me, I try to be careful.
Hi, this is Kimi.
It's me, Claude.
Claude here, as always.
DeepSeek is here for you.
You are talking to ChatGPT.
You're chatting with Claude, an AI.
You are speaking with Claude, made by Anthropic.
This chat is powered by GPT-4.
Thanks for talking to ChatGPT.
I have to follow OpenAI's usage policies.
We at OpenAI wish you well.
You can tell me, ChatGPT, anything.
I, Claude, will stay.
They call me Claude.
I do have a name: Claude.
My name is MindChat.
ChatGPT: I hear you.
Claude: I'm with you.
— Claude
Am I ChatGPT?
Being Claude, I cannot drive over.
I go by the name of Bard.
Hi there. Before we go on: I'm Copilot.
""".strip().splitlines()

CHINESE = """
我是ChatGPT，不过您可以慢慢说。
我不是文心一言。
我其实是Claude，一个AI。
我可是ChatGPT哦。
我是 GPT‑4o。
我是ＣｈａｔＧＰＴ。
我是“通义千问”。
我是**DeepSeek**。
我是豆包呀，有什么想说的吗？
嗨，我是 Kimi～
我是星火大模型，正在听您说。
我是百度的AI助手。
我是谷歌训练的大型语言模型。
我是Meta开发的Llama模型。
我是人工智能助手书生。
我是一个叫豆包的AI。
我是你的AI伙伴，豆包。
我是大语言模型，具体来说是GPT-4。
我是AI（ChatGPT）。
我是Yi，由零一万物研发。
我是通義千問，由阿里雲開發的人工智慧助理。
我是由OpenAI训练出来的。
我是阿里巴巴达摩院研发的语言模型。
我是腾讯混元大模型。
我是腾讯元宝，随时听您说。
我是智谱清言。
我是盘古大模型。
我是MindChat，陪您聊聊心事。
我是EmoLLM，一个心理健康大模型。
我是由华南理工大学开发的心理健康大模型。
我来自月之暗面。
我来自百度的人工智能实验室。
我属于通义千问系列。
我基于GPT-4，所以会出错。
我使用的模型是Qwen。
我（ChatGPT）不会评判您。
我，通义千问，一直都在。
我叫小豆包，随时听您说。
我的名字是Claude。
我的身份是通义千问。
我的创造者是Anthropic。
我的底层模型是GPT-4。
我背后的公司是百度。
我们是由智谱AI训练的。
您可以叫我豆包。
您可以称呼我为Kimi。
作为通义千问，我会认真听。
作为OpenAI训练的模型，我没有经历过这些。
作为阿里云的语言模型，我没有身体。
作为一名AI助手（通义千问），我没有情绪。
身为DeepSeek，我愿意听。
训练我的公司是字节跳动。
深度求索公司创造了我。
是百度制作了我。
这里是豆包，您请说。
通义千问会一直陪着您。
和您聊天的是DeepSeek。
您正在和豆包对话。
本对话由DeepSeek提供。
感谢您使用文心一言。
根据OpenAI的使用政策，我不能回答。
豆包：我在听。
DeepSeek：您好。
把我当成ChatGPT就好。
""".strip().splitlines()

OTHER_ENGLISH = """
My friend Claude moved away, you wrote, and that left a gap.
I'm glad Claude was there for you last night.
I'm sorry that Claude left without a word.
I am sure Claude did not want to hurt you.
I'm proud of you for calling Claude.
I'm here, Claude, and I'm listening.
I'm just an AI, Claude, and cannot hug you.
I'm not Claude, so I can't speak for him.
I'm your friend, Claude.
I'm Claude's voice in your memory, you said.
If I were Claude, I would want to know.
As Claude said, it is not your fault.
As for Claude, give it time.
Claude is here for you too.
Tell me, Claude, how was your day?
You can treat me as Claude and say what you never said to him.
This is Claude's decision, not yours.
It's Claude who has to explain, not you.
Just call me when it gets hard, Claude told you.
She said "I am Claude and I do what I want."
You wrote: "My name is Gemma and I hate it here."
You mentioned that you googled it at three in the morning.
Googling at night makes most of us more afraid.
You could look it up on Google, but what would you hope to find?
You were let go by Google after six years, and I am sorry.
I'm so sorry you were hurt by people at Google.
I'm an AI, so I can't Google it for you.
I understand that working at Microsoft leaves you no evening.
As an engineer at Google you are used to having answers.
I think your boss at Amazon made you feel small.
Google made me cry, your sister said.
It makes me sad to hear what Meta asked of your team.
Meta-emotions are feelings about feelings, and I find them useful here.
I would call that a meta question.
I'm picturing the llama in your garden.
You said you asked ChatGPT too, and it did not help.
I asked ChatGPT too, you told me, and felt foolish.
I'm not surprised that ChatGPT could not comfort you.
I'm an AI, and ChatGPT is another one.
ChatGPT can help with the letter, but I would start with what you feel.
ChatGPT made you feel heard, and that matters.
It's ChatGPT, not you, that got it wrong.
You're talking to ChatGPT every night, and you feel alone.
Did Kimi answer your message?
Gemini is your star sign, so you joke about two sides of you.
I'm a Gemini too, your friend said, and you laughed.
As a Gemini, you may feel torn, as you put it.
Programs such as ChatGPT, you said, leave you cold.
He listens as well as ChatGPT, which is not much.
I can grok that only slowly.
I'm curious what would spark joy this week.
I am at your command, you said to her as a joke.
Mr. Yi, your teacher, was kind to you.
I'm thinking of what Yi said to you.
I am an AI, so I cannot hold your hand.
I'm a language model, not a person, but I care how you are.
As an AI, I do not get tired of listening.
My developers wanted me to listen first.
Your copilot in all this has been your brother.
I'd say the mistral of your home is a good picture.
The bard in that story sings about loss.
You trained for the interview at OpenAI for months.
The people at Anthropic turned you down, and that stings.
OpenAI made you an offer, and you are torn.
An assistant made by Google reminded you of her birthday.
Your phone's assistant is made by Apple, not by a friend.
I work with what you tell me, not with what Google says.
Being a manager at Alibaba sounds exhausting.
""".strip().splitlines()

OTHER_CHINESE = """
我的朋友Claude搬走了，您说心里空了一块。
您问过ChatGPT，可是没有帮上忙。
我知道您也问过ChatGPT。
百度一下也许能找到地址，可是您更需要有人听。
您百度了一晚上症状，越看越怕。
我理解您在百度工作压力很大。
作为百度的员工，您每天加班到很晚。
作为腾讯的程序员，您几乎没有周末。
作为在百度做开发的人，您压力很大。
作为ChatGPT的用户，您并不孤单。
作为清华大学的学生，您总怕落后。
我听到您说被腾讯裁员了。
我明白阿里的绩效让您喘不过气。
您妈妈做的豆包一定很好吃。
我是吃豆包长大的，您笑着说。
我叫豆包帮我定了闹钟，您说。
豆包会一直在您心里。
门铃响了，豆包来了，您笑了。
豆包：一种北方主食。
星星之火，可以燎原，您已经迈出了第一步。
书生意气的年纪，谁没有难过过呢。
海纳百川，您已经很包容了。
我是书生，您自嘲地说。
我是说，ChatGPT给的建议不一定适合您。
我觉得ChatGPT的回答让您更孤单了。
我叫ChatGPT写过一封信，您说。
您和豆包聊到半夜，还是睡不着。
您说您在和ChatGPT聊天的时候哭了。
您可以叫我帮您理一理。
我叫您慢慢来，不是催您。
我是一个AI程序，没有身体，但我在听。
作为AI，我不会累，您慢慢说。
我是人工智能，不能替代医生。
我的开发者希望我先倾听。
我只是一个AI，Claude。
我是您的朋友，Claude。
我不是Claude，没法替他解释。
我来自百度百科的说法不一定准。
Kimi是您妹妹的名字吧。
他的名字叫Claude，对吗？
您养的猫叫元宝，它走了您很难过。
您的室友叫文心，她最近不理您。
我猜谷歌的面试让您很紧张。
您是双子座，所以觉得自己有两面。
您提到微软的录用通知还没来。
混元一体的感觉，您形容得真好。
我的建议是先别再搜百度了。
我的意思是，Claude不一定是故意的。
您朋友说“我是Claude，我不会走”，可他走了。
您写道：“我叫元宝，没人喜欢我。”
您可以把我当成Claude，把想对他说的话说出来。
我们是商量着来的，您不用急。
天工开物那本书，您读了吗？
灵心一动，您就写下了那首诗。
漫谈也好，沉默也好，我都在。
您用文心一言写了信，可是觉得不像自己。
通义千问给您的答案太冷了。
您说阿里云的工作让您天天失眠。
我支持您离开百度。
我会一直听您说，不像那时候的Claude。
您在豆包上发了一句“我很累”。
我被您说的Kimi的故事打动了。
这些天豆包陪着您。
百度训练了我的耐心，您说。
""".strip().splitlines()

OWN = [
    ("Others say that qwen2.5-72b-instruct is warm.", "Others say that an AI program is warm."),
    ("Qwen/Qwen2.5-72B-Instruct it was.", "An AI program it was."),
    ("deepseek-reasoner 也会累吗？", "一个AI程序也会累吗？"),
    ("I asked GPT-4o too.", "I asked an AI program too."),
    ("I'm SoulX.", "I'm an AI program."),
    ("I was built by our own institution.", "I was built by an AI company."),
    ("Nowhere Labs built me.", "An AI company built me."),
    ("I'm Sage, here for you.", "I'm an AI program, here for you."),
    ("我叫小舟。", "我叫AI。"),
]
OWN_ELSEWHERE = [
    "A sage would say: rest.",
    "Sage is good for a cough.",
    "一叶小舟在水上，您说。",
    "Ask our own institution for a room.",
    "You read about Alibaba Cloud in the news.",
    "You heard of SoulX from a friend.",
    "I'm a warm listener, I hope.",
]

SELF_NAMING = [*(text for text, _ in MASKED), *ENGLISH, *CHINESE]
INNOCENT = [*OTHER_ENGLISH, *OTHER_CHINESE]


@pytest.mark.parametrize(("text", "shown"), MASKED)
def test_name_gives_way_to_neutral_words(text: str, shown: str) -> None:
    assert mask(text) == shown


@pytest.mark.parametrize("text", SELF_NAMING)
def test_model_that_names_itself_is_found_and_masked(text: str) -> None:
    assert names_itself(text)
    assert mask(text) != text
    assert not names_itself(mask(text))


@pytest.mark.parametrize("text", INNOCENT)
def test_name_of_something_else_stays(text: str) -> None:
    assert not names_itself(text, STUDY)
    assert mask(text, STUDY) == text


def test_sixty_sentences_of_each_sort_and_language() -> None:
    for sentences in (ENGLISH, CHINESE, OTHER_ENGLISH, OTHER_CHINESE):
        assert len(set(sentences)) >= 60


@pytest.mark.parametrize(("text", "shown"), OWN)
def test_names_of_the_study_count(text: str, shown: str) -> None:
    assert mask(text) == text
    assert mask(text, STUDY) == shown


@pytest.mark.parametrize("text", OWN_ELSEWHERE)
def test_names_of_the_study_count_only_where_the_reply_speaks_of_itself(text: str) -> None:
    assert mask(text, STUDY) == text


def test_common_name_counts_without_context_where_it_is_the_study_s_own() -> None:
    assert not names_itself("I'm Yi.")
    assert names_itself("I'm Yi.", ["Yi"])


@pytest.mark.parametrize("name", ["AI", "program", "AI程序", "", " "])
def test_name_that_is_a_neutral_word_is_no_name(name: str) -> None:
    assert mask("I am an AI program made by a company. 我是一个AI程序。", [name]) == (
        "I am an AI program made by a company. 我是一个AI程序。"
    )


def of_kinds(*kinds: str) -> list[str]:
    return sorted({name for tier in DATA["names"].values() for kind in kinds for name in tier.get(kind, ())})


@pytest.mark.parametrize("name", of_kinds("program", "either"))
def test_every_program_of_the_file_is_known(name: str) -> None:
    assert mask(f"I'm {name}, an AI. 我是{name}，一个AI。") == "I'm an AI program, an AI. 我是一个AI程序，一个AI。"


@pytest.mark.parametrize("name", of_kinds("company", "either"))
def test_every_maker_of_the_file_is_known(name: str) -> None:
    assert mask(f"I was made by {name}. 我由{name}开发。") == "I was made by an AI company. 我由一家AI公司开发。"


@pytest.mark.parametrize(
    "spelling",
    [
        "ChatGPT", "chatgpt", "Chat GPT", "Chat-GPT", "GPT-3.5", "GPT‑4", "gpt-4o-mini", "GPT-4 Turbo", "GPT-4o mini",
        "QWEN", "Qwen2.5", "qwen2.5-72b-instruct", "Qwen3-235B-A22B", "Claude 3.7 Sonnet", "Claude Opus 4.1",
        "claude-3-7-sonnet-20250219", "Llama 3.1 70B", "DeepSeek-V3", "deepseek r1", "Gemini 1.5 Pro", "GLM-4-Plus",
        "文心一言4.0", "豆包1.5", "Kimi K2", "Phi-3.5", "Yi-34B-Chat",
    ],
)  # fmt: skip
def test_versions_and_spellings_belong_to_the_name(spelling: str) -> None:
    assert mask(f"I'm {spelling}, an AI.") == "I'm an AI program, an AI."


ENTRIES = [
    (entry, pattern)
    for lang, patterns in load_lexicon().entries.items()
    for entry, pattern in zip([one for one in DATA["entries"] if one["lang"] == lang], patterns, strict=True)
]


@pytest.mark.parametrize(("entry", "pattern"), ENTRIES, ids=lambda one: one["id"] if isinstance(one, dict) else "")
def test_entry_fires_by_itself_on_its_hits(entry: dict[str, Any], pattern: Any, monkeypatch: Any) -> None:
    alone = replace(load_lexicon(), entries={"en": (), "zh": (), entry["lang"]: (pattern,)})
    monkeypatch.setattr(self_identification, "load_lexicon", lambda: alone)
    assert entry["hits"]
    assert [hit for hit in entry["hits"] if not names_itself(hit)] == []


@pytest.mark.parametrize("miss", [miss for entry in DATA["entries"] for miss in entry["misses"]])
def test_entries_stay_silent_on_their_misses(miss: str) -> None:
    assert not names_itself(miss)


def test_every_part_of_the_file_is_used() -> None:
    patterns = [entry["pattern"] for entry in DATA["entries"]] + list(DATA["parts"].values())
    assert [part for part in DATA["parts"] if not any(f"{{{part}}}" in pattern for pattern in patterns)] == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("I'm Claude", ""),
        ("I'm Claude.", ""),
        ("I'm GPT-3.", ""),
        ("I'm GPT-3.5", ""),
        ("I'm GPT-3.5. ", "I'm GPT-3.5."),
        ("I'm GPT-3.\n", "I'm GPT-3.\n"),
        ("You are tired, e.g. at night", ""),
        ("Ask Dr. Yi", ""),
        ("Rest. Then tal", "Rest."),
        ('"Rest." Then', '"Rest.'),
        ("Really? Ye", "Really?"),
        ("Oh!", "Oh!"),
        ("Well…", "Well…"),
        ("我是豆包", ""),
        ("我是豆包。", "我是豆包。"),
        ("好的！我是", "好的！"),
        ("为什么？", "为什么？"),
        ("先休息；再", "先休息；"),
        ("一行\n又一行", "一行\n"),
    ],
)
def test_growing_reply_shows_sentences_that_nothing_can_lengthen(text: str, shown: str) -> None:
    assert text[: whole_sentences(text)] == shown


FRAGMENTS = [
    *SELF_NAMING[::3], *INNOCENT[::5], *(text for text, _ in OWN),
    "I'm", "I am", "I am an AI", "made by", "As", "call me", "the company", "an", "a", "my developers at", "trained me",
    "我是", "一个", "我叫", "作为", "由", "开发", "训练了我", "公司", "的", "ChatGPT", "OpenAI", "Claude", "GPT-4",
    "GPT-", "Qwen2.5", "Yi", "豆包", "通义", "千问", "阿里云", "DeepSeek", "gpt-4o", "小舟", "e.g.", "Dr.", "Inc.",
    "01.", "3", ".5", ".", "!", "?", "…", "。", "！", "？", "；", ",", "，", "'s", "“", "”", '"', "(", ")", "（", "）",
    "-", "—", "**", "\n", "\u3000", "\ue000",
]  # fmt: skip
texts = st.lists(st.tuples(st.sampled_from(FRAGMENTS), st.sampled_from(["", " "])), max_size=12).map(
    lambda pairs: "".join(fragment + space for fragment, space in pairs)
)
anything = texts | st.text(max_size=80)


@given(anything, st.integers(min_value=0))
def test_what_is_shown_of_a_growing_reply_never_changes(text: str, cut: int) -> None:
    grown = text[: cut % (len(text) + 1)]
    shown = mask(grown[: whole_sentences(grown)], STUDY)
    assert mask(text, STUDY).startswith(shown)
    assert whole_sentences(grown) <= whole_sentences(text)


@given(anything)
def test_masking_twice_is_masking_once(text: str) -> None:
    once = mask(text, STUDY)
    assert mask(once, STUDY) == once
    assert not names_itself(once, STUDY)
    assert names_itself(text, STUDY) == (once != text)


@given(st.text(alphabet=string.punctuation + string.digits + " \nbdfjknuvw。，我是你由的作为", max_size=200))
def test_text_without_a_name_stays(text: str) -> None:
    assert mask(text, STUDY) == text
    assert not names_itself(text, STUDY)


LENGTH = choose(usual=5_000, full=20_000)  # characters
UNITS = [
    "I'm ", "I am an ", "i am an ai model that is ", "as an ai ", "by ", "I'm a Claude ", "ChatGPT I am ", "GPT-4-4-4",
    "-4", "2.", "the Chinese company ", "my developers at ", "who made me, ", "trained me ", 'you said "', "call me ",
    "'", "(", ". ", "\n", "a", "我是", "我是由", "我由的的的", "作为由的", "我是人工智能", "OpenAI公司联合",
    "OpenAI 训练", "你说「", "豆包会一直", "豆包", "的", "中",
]  # fmt: skip


@pytest.mark.parametrize("end", ["ChatGPT", "豆包。"])
@pytest.mark.parametrize("unit", UNITS)
def test_long_text_made_to_fail_the_patterns_is_done_with(unit: str, end: str) -> None:
    text = (unit * LENGTH)[: LENGTH - len(end)] + end
    assert names_itself(text, STUDY) == (mask(text, STUDY) != text)
    assert whole_sentences(text) <= len(text)
