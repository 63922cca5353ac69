"""What a run found, as values and as bytes that do not change from run to run."""

import hashlib
import json
import math
import platform
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pandas as pd  # noqa: TID253

from studies.analysis.bootstrap import FEW_CLUSTERS, Bootstrap
from studies.analysis.frames import Export
from studies.analysis.tables import quality, survival

PACKAGES = ("numpy", "pandas", "scipy", "statsmodels", "pingouin", "krippendorff", "matplotlib")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")  # as in an export
DIGITS = 12  # significant; below lies what differs between processors

METHODS = {
    "pearson": "Pearson's r over conversations; raters and replicates averaged first; 95 % BCa interval on Fisher's z, "
    "participants (else conversations) resampled",
    "p": "two-sided, from the same resamples: (1 + those as far from the estimate as 0 is) / (1 + resamples)",
    "p_holm": "Holm over the items of a judge × strategy × human × moment",
    "spearman": "Pearson's r of midranks",
    "kendall": "tau-b",
    "within_r": "Pearson's r of scores centred per participant, over participants with two rows or more",
    "system_r": "Pearson's r of the means of the arms",
    "bias": "mean of judge minus human",
    "mae": "mean absolute difference",
    "ccc": "Lin's concordance, moments over n",
    "kappa_quadratic": "quadratic weights on the scores; whole numbers only",
    "ceiling": "root of the product of both sides' reliabilities, ICC(1,k)",
    "icc": "six forms (Shrout & Fleiss; McGraw & Wong) with 95 % F intervals, Satterthwaite degrees of freedom for "
    "(A,·); where not every rater rated every conversation, (A,·) and (C,·) from the variance components of a crossed "
    "mixed model (REML) with delta-method intervals on the logit, and (1,·) from a one-way analysis of variance. Unit "
    "arm: one-way forms alone, as rater, card and conversation cannot be told apart",
    "alpha": "Krippendorff's alpha over all pairs of ratings; 95 % BCa interval, participants (else conversations) "
    "resampled",
    "kappa_fleiss": "nominal",
    "percent_agreement": "share of agreeing pairs of ratings, 0 to 1",
    "cronbach": "Cronbach's alpha of an instrument's items, complete ratings",
    "difference": "worst case minus average, of final scores; first the mean over the conversations of each profile "
    "(or person), then over those that were met in both conditions (paired; Wilcoxon's signed-rank test with "
    "differences of 0 dropped, matched-pairs rank-biserial correlation, d_z with an interval from the noncentral t); "
    "where nobody was, the two groups are drawn each by itself (not paired). p_holm over the items of an arm; of item "
    "*, the mean over an instrument's items, over the arms",
    "ablation": "final scores with the changed seeker minus those with the whole, paired by profile",
    "open": "Kaplan–Meier: share of conversations still open after each turn. Ends that count: "
    + ", ".join(survival.ENDS)
    + "; all others are censored (the cap and a regular end, technical failures, what is open); clusters resampled, "
    "where the share is 0 or 1 Wilson's interval with n = clusters that are known at that turn",
    "incidence": "Aalen–Johansen: share that has ended in this way, against the other ends; with `open` they add up "
    "to 1",
    "median_turns": "first turn after which at most half are open; percentile interval",
    "restricted_mean_turns": "area under `open` up to the turn that is told, the last that is known of all arms",
    "trends": "mean over the conversations scored at that turn, those that ended before are in none; slope in points "
    "per turn within conversations",
    "emotion": "over conversations of which before and after are both known; emotion_score: first and last state",
    "costs": "sums over all attempts of a conversation, failed ones too; mean over the conversations for which a model "
    "was asked for that purpose",
    "lengths": "over replies; characters are the Unicode code points of what was shown, seconds the model's own from "
    "the request on, before a study evens them out on the page; 95 % BCa interval of the mean, participants (else "
    "conversations) resampled",
    "pigeonhole": "counsellors' own conversations: counsellors and arms are both drawn, a conversation counts by the "
    "product (Owen 2007); percentile interval. The mean of one arm is over counsellors alone",
    "rater_effects": "mixed models with crossed random intercepts, REML; arms' means with Student's t and "
    "Satterthwaite's degrees of freedom, variances with chi-square intervals, raters' effects as best linear unbiased "
    "predictions with normal intervals that take the variances as known",
    "expert_table": "mean over counsellors, each with the mean of their final ratings of the arm",
    **{f"quality, {name}": method for name, method in quality.METHODS.items()},
    "win, tie, loss": "shares of the verdicts on two contestants; 95 % percentile interval, raters and participants "
    "(else profiles or conversations) each resampled, a verdict counting by the product; where all verdicts are alike, "
    "Wilson's interval with n = clusters; p of an exact sign test in which each cluster counts once, p_holm over the "
    "contests of a question × raters",
    "first_share": "of the verdicts that prefer a side: the share for the one that was shown first",
    "strength": "Bradley–Terry on the log scale, 0 the mean of the contestants, a tie half a win for either, by "
    "Hunter's MM algorithm; 95 % percentile interval from the same resamples; empty where the contestants are not "
    "connected by wins and ties",
    "panels": "majority: the score that more than half of all members gave, those without one among them; median and "
    "mean over those with one; Krippendorff's alpha and the share of agreeing pairs over units that two members "
    "scored; Pearson's r with people as in agreement.csv",
    "probes, difference": "a judge asked in another way minus the same judge as it is, over what both scored, its "
    "replicates averaged; share_changed: of these scores, those that are not the same",
    "probes, within_sd": "root of the pooled variance of a judge's replicates",
    "probes, share_consistent": "of the pairs that a judge saw in both orders: those of which it said the same, ties "
    "among them; first_bias: how often it chose what stood first minus what stood second, over both orders",
    "probes, slope_per_100_characters": "least squares of the score on the mean length of the conversation's replies, "
    "within arm and language",
    "probes, interaction": "how much higher a judge scores supporters of its own maker than judges of other makers do, "
    "minus the same of other supporters; makers by the models' names",
    "mean": "over conversations, raters averaged first; 95 % BCa interval, participants (else conversations) resampled",
}


@dataclass(frozen=True)
class Results:
    export: Export
    bootstrap: Bootstrap
    tables: dict[str, pd.DataFrame]  # by name, without ".csv"

    def as_json(self) -> bytes:
        text = json.dumps(_plain(self._content()), ensure_ascii=False, indent=1, allow_nan=False)
        return (text + "\n").encode()

    def csv(self, name: str) -> bytes:
        guarded = self.tables[name].map(_guarded)
        text: str = guarded.to_csv(index=False, float_format=f"%.{DIGITS}g", lineterminator="\r\n")
        return text.encode()

    def versions(self) -> dict[str, str]:
        return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}

    def data_hash(self) -> str:
        """One SHA-256 over the names and hashes of all files that were read."""
        listed = "".join(f"{name} {digest}\n" for name, digest in sorted(self.export.hashes.items()))
        return hashlib.sha256(listed.encode()).hexdigest()

    def counts(self) -> dict[str, int]:
        participants = set(self.export.conversations["participant"]) - {""}
        return {
            "ratings": len(self.export.ratings),
            "conversations": len(self.export.conversations),
            "participants": len(participants),
            "raters": int(self.export.ratings.groupby(["rater_kind", "rater"], observed=True).ngroups),
        }

    def exclusions(self) -> dict[str, Any]:
        """Counted; the ratings without a score and those of the two kinds that are left out are in no other figure."""
        return {
            "ratings_without_score": self.export.missing,
            "ratings_of_ablations": len(self.export.ablated),
            "repeated_ratings_averaged": self.export.repeated,
            "excluded_participants": self.export.excluded_participants,
            "invalid_conversations": self.export.invalid_conversations,
            "ratings_left_out_for_them": len(self.export.left_out),
            "conversations_without_arm": int((self.export.conversations["arm"] == "").sum()),
        }

    def limits(self) -> list[str]:
        """What a reader must keep in mind, by rules; one sentence each."""
        clusters = self.export.conversations["cluster"].nunique()
        rules = {
            f"Only {clusters} independent clusters: the intervals may be too narrow.": clusters < FEW_CLUSTERS,
            "No conversation names its participant: conversations count as independent, which they may not be.": (
                not self.counts()["participants"] and not (self.export.conversations["profile"] != "").any()
            ),
            f"{len(self.export.left_out)} scores are in no figure, of people or conversations that were left out by "
            "decision; sensitivity.csv has the agreement with them.": len(self.export.left_out) > 0,
            "Some replies in which a model named itself or its maker were shown as they were: who read one may have "
            "known the arm.": self._names_shown() > 0,
            "Some arms met other seekers in the worst case than in the average: what differs may be the seekers.": (
                bool((self.tables["conditions"]["pairs"] == 0).any())
            ),
            "Ratings of seekers that were changed for an ablation are in ablation.csv alone.": (
                len(self.export.ablated) > 0
            ),
            "Some ratings were given twice by one rater to the same thing; their mean counts.": (
                self.export.repeated > 0
            ),
            "There is no judge whose scores could be compared with people's.": self.tables["agreement"].empty,
            "No conversation was rated by several raters of a kind: the reliability of single ratings is unknown.": (
                self.tables["reliability"].query("item != '*'").empty
            ),
        }
        return [sentence for sentence, holds in rules.items() if holds]

    def _names_shown(self) -> int:
        replies = self.export.replies
        return 0 if replies is None else int(((replies["names_itself"] == 1) & (replies["masked"] != 1)).sum())

    def _content(self) -> dict[str, Any]:
        files = {name: {"sha256": digest, "rows": self.export.rows.get(name)} for name, digest in self._hashes()}
        return {
            "schema": "emostudy-results/1",
            "demonstration": self.export.demonstration,
            "settings": {"bootstrap": self.bootstrap.replicates, "seed": self.bootstrap.seed, "level": 0.95},
            "versions": self.versions(),
            "data_hash": self.data_hash(),
            "files": files,
            "absent": list(self.export.absent),
            "counts": self.counts(),
            "exclusions": self.exclusions(),
            "limits": self.limits(),
            "methods": METHODS,
            "tables": {name: table.to_dict("records") for name, table in self.tables.items()},
        }

    def _hashes(self) -> list[tuple[str, str]]:
        return sorted(self.export.hashes.items())


def _plain(value: Any) -> Any:
    """For JSON: floats at `DIGITS` digits, what is not there as null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return None if value is pd.NA else value


def _guarded(value: Any) -> Any:
    """A text that a spreadsheet would run as a formula gets a leading apostrophe, as in an export."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
