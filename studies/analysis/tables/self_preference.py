"""A probe of self-preference: does a judge score supporters of its own maker higher than judges of other makers do?"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd  # noqa: TID253

from dialogue.judges.makers import maker_of
from studies.analysis.bootstrap import Array, Bootstrap, sum_by_cluster
from studies.analysis.frames import Export, read_table
from studies.analysis.notes import Note
from studies.analysis.rows import Cells, Labels, Row
from studies.analysis.tables.judged import ALL, JUDGE, SCALE, UNIT, add_resampled, clusters_of, key_columns

SELF_PREFERENCE, INTERACTION = "self_preference", "interaction"


def preferences(plain: pd.DataFrame, export: Export, bootstrap: Bootstrap) -> Iterator[Cells]:
    """Yield one row for each item of a judge about whom all is known; for others one row with the reason."""
    makers, supporters = judges_makers(export.folder), supporters_makers(export.folder)
    for (judge, strategy), rows in plain.groupby(JUDGE):
        labels = {"judge": str(judge), "strategy": str(strategy), "variant": SELF_PREFERENCE, "statistic": INTERACTION}
        own = makers.get(str(judge), "")
        kin = rows["conversation"].map(supporters).fillna("") if own else pd.Series("", index=rows.index)
        role = export.roles.get(str(judge), "")
        others = [
            name for name, maker in makers.items() if maker and maker != own and export.roles.get(name, "") == role
        ]
        of_others = plain[(plain["strategy"] == strategy) & plain["judge"].isin(others)]
        if why := _why_no_preference(own, set(kin) - {""}, of_others):
            row = Row(**labels, instrument="", moment="", item=ALL, n=0, clusters=0)
            row.leave_out("estimate", "low", "high", because=why)
            yield row.cells()
            continue
        mean = of_others.groupby([*SCALE, *UNIT])["score"].mean().rename("others")
        beside = rows.assign(kin=kin).join(mean, on=[*SCALE, *UNIT], how="inner")
        for scale, both in beside[beside["kin"] != ""].groupby(SCALE):
            yield _preference(labels | key_columns(SCALE, scale), both, own, export, bootstrap)


def _why_no_preference(own: str, kin: set[str], of_others: pd.DataFrame) -> Note | None:
    if not own:
        return Note("maker_unknown")
    if own not in kin or len(kin) < 2:
        return Note("makers_alike")
    return Note("no_other_maker") if of_others.empty else None


def _preference(labels: Labels, both: pd.DataFrame, own: str, export: Export, bootstrap: Bootstrap) -> Cells:
    kin = (both["kin"] == own).to_numpy(float)
    ahead = (both["score"] - both["others"]).to_numpy(float)
    clusters = clusters_of(both["conversation"], export)
    row = Row(**labels, n=len(both), clusters=len(set(clusters)))
    if not 0 < kin.sum() < len(kin):
        row.leave_out("estimate", "low", "high", because=Note("one_makers_supporters"))
        return row.cells()
    sums = sum_by_cluster(np.column_stack([kin, kin * ahead, 1 - kin, (1 - kin) * ahead]), clusters)
    row.values["estimate"] = float(_interaction(sums.sum(axis=0)))
    add_resampled(row, lambda: bootstrap.resample(_interaction, sums))
    return row.cells()


def _interaction(sums: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 1] / sums[..., 0] - sums[..., 3] / sums[..., 2])


def judges_makers(folder: Path) -> dict[str, str]:
    """Return the maker of each judge's models, from calls.csv; empty where there are several or it is unknown."""
    path = folder / "calls.csv"
    if not path.is_file():
        return {}
    calls = read_table(path, ("purpose",), ("model", "judge")).astype(str)
    of_judges = calls[(calls["purpose"] == "judge") & (calls["judge"] != "")]
    makers = {judge: {maker_of(model) for model in models} for judge, models in of_judges.groupby("judge")["model"]}
    return {str(judge): makers_found.pop() if len(makers_found) == 1 else "" for judge, makers_found in makers.items()}


def supporters_makers(folder: Path) -> dict[str, str]:
    """Return the maker of each conversation's model, from conversations.csv; empty where it is unknown."""
    path = folder / "conversations.csv"
    if not path.is_file():
        return {}
    chats = read_table(path, ("conversation",), ("model",)).astype(str)
    return {code: maker_of(model) for code, model in zip(chats["conversation"], chats["model"], strict=True)}
