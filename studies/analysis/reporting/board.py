"""The board of the arms: their mean on each item, the two highest marked."""

import pandas as pd  # noqa: TID253

from dialogue.judges.roles import BY_CODE, SEEKER
from studies.analysis.language import gettext as _
from studies.analysis.raters import read_group
from studies.analysis.reporting.main_rows import whole_first
from studies.analysis.reporting.markup import tag
from studies.analysis.reporting.naming import group_name, in_order, item_name, raters_name, scale_name
from studies.analysis.reporting.numbers import decimal, span
from studies.analysis.reporting.parts import Excerpt, join_sentences
from studies.analysis.reporting.study import REASONS
from studies.analysis.results import Results

ITEM = ["instrument", "moment", "item"]
NOT_DESCRIBED = pd.DataFrame(columns=["group", "model"])  # arms by their keys alone


def board_of(raters: str, rows: pd.DataFrame, results: Results, descriptions: pd.DataFrame) -> Excerpt:
    """Return the board of one questionnaire at one moment, with the number of scores where some are missing;
    `descriptions` as in `board`."""
    first = rows.iloc[0]
    scores = _counts_of_scores(results.table("coverage"), raters, rows)
    table = _with_coverage(board(rows, str(first["instrument"]), descriptions), scores)
    caption = _("Means of the arms as rated by {raters} ({scale})").format(
        raters=raters_name(raters), scale=scale_name(str(first["instrument"]), str(first["moment"]))
    )
    return Excerpt(f"means-{raters}-{first['instrument']}", caption, table, explain_marks(table))


def board(rows: pd.DataFrame, instrument: str, descriptions: pd.DataFrame) -> pd.DataFrame:
    """Return one row per arm with its means, their number, and in each item marks at the highest and the second.

    `descriptions` has the `group` and `model` of arms; the rows are sorted by group, in the study's order, and else
    stay in theirs.
    """
    means = rows.pivot(index="arm", columns="item", values="mean").reindex(dict.fromkeys(rows["arm"]))
    marked = means[whole_first(in_order(instrument, means.columns))].apply(_mark_best)
    wide = marked.join(rows.groupby("arm")["n"].agg(span))
    wide = wide.rename(columns=lambda item: item_name(instrument, item)).reset_index()
    return _with_models(wide, descriptions)


def _with_models(wide: pd.DataFrame, descriptions: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the arms' groups and models, where any is known, in front of their means."""
    details = descriptions.reindex(wide["arm"].astype(str)).fillna("")
    places = {group: place for place, group in enumerate(dict.fromkeys(descriptions["group"]), 1)}
    wide = wide.assign(group=details["group"].map(group_name).to_numpy(), model=details["model"].to_numpy())
    wide = wide.iloc[details["group"].map(places).fillna(len(places) + 1).argsort(kind="stable").to_numpy()]
    front = [name for name in ("group", "arm", "model") if (wide[name] != "").any()]
    return wide[front + [name for name in wide.columns if name not in ("group", "arm", "model")]]


def _mark_best(means: "pd.Series[float]") -> "pd.Series[str]":
    texts = [decimal(mean) for mean in means]
    rounded = {text: round(mean, 2) for text, mean in zip(texts, means, strict=True) if text != "–"}
    highest = sorted(set(rounded.values()), reverse=True)[:2] if len(texts) > 1 else []
    marks = dict(zip(highest, ("strong", "u"), strict=False))
    marked = [tag(marks[rounded[text]], text) if rounded.get(text) in marks else text for text in texts]
    return pd.Series(marked, means.index, object)


def explain_marks(board: pd.DataFrame) -> str:
    sentences = [
        _(
            "Bold: the highest mean; underlined: the second. n: the conversations behind a mean, each counted once for "
            "every moment at which it was rated."
        )
    ]
    if "model" in board and board["model"].astype(str).str.endswith(REASONS).any():
        sentences.append(_("{mark}: a model that reasons before it answers.").format(mark=REASONS))
    return join_sentences(sentences)


def _counts_of_scores(coverage: pd.DataFrame, raters: str, items: pd.DataFrame) -> pd.DataFrame:
    """Return, by arm, how many scores of these `items` the raters gave, and of how many that they were asked for.

    Where items differ, the lowest and the highest. Empty where nothing is missing.
    """
    group, others = read_group(raters), set(BY_CODE) - {SEEKER.code}
    columns = ["strategy", "role", "raters", "statistic", "arm", *ITEM, "estimate", "n"]
    rows = coverage.reindex(columns=columns).merge(items[ITEM].drop_duplicates().astype(str), on=ITEM)
    in_role = rows["role"].map(lambda role: role if role in others else "") == group.role
    of_judges = (rows["statistic"] == "missing_share") & (rows["strategy"] == group.strategy) & in_role
    of_people = (rows["statistic"] == "skipped_share") & (rows["raters"] == group.kind)
    requested = rows[of_judges if group.is_of_judges else of_people]
    requested = requested.assign(scored=(requested["n"] * (1 - requested["estimate"])).astype(float).round())
    return requested.groupby(["arm", "item"])[["scored", "n"]].sum().groupby("arm").agg(span)


def _with_coverage(wide: pd.DataFrame, counts: pd.DataFrame) -> pd.DataFrame:
    if counts.empty:
        return wide
    texts = {str(arm): f"{scored} / {requested}" for arm, scored, requested in counts.itertuples()}
    return wide.assign(**{_("scored / requested"): wide["arm"].map(texts).fillna("–")})
