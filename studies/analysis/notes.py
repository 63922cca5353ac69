"""Notes on rows of results: codes with values, worded once in English and translated by the catalogue.

A note says why a value is missing, what to keep in mind about it, or how it was computed. Files have the English text;
the report has the text in its language. Code compares notes by their codes, never by their texts.

    Note("few_clusters", count=12).on(INTERVAL)
    # interval: only 12 clusters, the interval may be too narrow
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from string import Formatter
from typing import Any

from studies.analysis.language import gettext, spoken_language
from studies.analysis.language import gettext_noop as _

NOTE, CODES = "note", "note_codes"  # in a row of results.json: the text of its notes, and what they are


class Note:
    """A code of `WORDINGS` with the values for its places: texts, numbers or other notes.

    `columns` are what it is about, if that is not the whole row. Raises `KeyError` for an unknown code and `TypeError`
    for values that do not fit its wording.
    """

    def __init__(self, code: str, /, **values: "str | int | Note") -> None:
        if values.keys() != places_of(code):
            raise TypeError(f"note {code} has values for {sorted(values)}, but places for {sorted(places_of(code))}")
        self.code = code
        self.values = values
        self.columns: tuple[str | Note, ...] = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Note":
        """Return the note that `as_json` gave, and one that says so for a code or places of another version."""
        code, values = data["code"], {name: _from_json(value) for name, value in data.get("values", {}).items()}
        known = code in WORDINGS and values.keys() == places_of(code)
        note = cls(code, **values) if known else cls("of_another_version", code=code)
        return note.on(*(_from_json(column) for column in data.get("columns", ())))

    def as_json(self) -> dict[str, Any]:
        """Return the code, the values and the columns for JSON, without what is empty."""
        parts = {
            "code": self.code,
            "values": {name: _as_json(value) for name, value in self.values.items()},
            "columns": [_as_json(column) for column in self.columns],
        }
        return {name: part for name, part in parts.items() if part}

    def on(self, *columns: "str | Note") -> "Note":
        """Return the same note about these columns; without any, about the whole row."""
        note = Note(self.code, **self.values)
        note.columns = columns
        return note

    def text(self) -> str:
        """Return the wording in the language that is spoken."""
        language = spoken_language()
        return self._write(gettext, language.comma, language.colon)

    def __str__(self) -> str:
        """Return the wording in English, as files have it."""
        return self._write(str, ", ", ": ")

    def _write(self, translate: Callable[[str], str], comma: str, colon: str) -> str:
        def write(value: "str | int | Note") -> str:
            return value._write(translate, comma, colon) if isinstance(value, Note) else str(value)

        wording = translate(WORDINGS[self.code])
        text = wording.format(**{name: write(value) for name, value in self.values.items()})
        return f"{comma.join(map(write, self.columns))}{colon}{text}" if self.columns else text

    def _key(self) -> tuple[Any, ...]:
        return self.code, frozenset(self.values.items()), self.columns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Note) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<Note {self.code}: {self}>"


class Notes:
    """The notes of one cell of a table."""

    def __init__(self, *notes: Note) -> None:
        self.notes = notes

    def __iter__(self) -> Iterator[Note]:
        return iter(self.notes)

    def __len__(self) -> int:
        return len(self.notes)

    def has(self, code: str) -> bool:
        return any(note.code == code for note in self.notes)

    def text(self) -> str:
        """Return the wordings in the language that is spoken."""
        return spoken_language().semicolon.join(note.text() for note in self.notes)

    def __str__(self) -> str:
        """Return the wordings in English, as files have them."""
        return "; ".join(map(str, self.notes))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Notes) and self.notes == other.notes

    def __hash__(self) -> int:
        return hash(self.notes)

    def __repr__(self) -> str:
        return f"<Notes {self}>"


def _as_json(value: str | int | Note) -> Any:
    return value.as_json() if isinstance(value, Note) else value


def _from_json(value: Any) -> Any:
    return Note.from_json(value) if isinstance(value, Mapping) else value


def read_notes(row: Mapping[str, Any]) -> list[Note]:
    """Return the notes of a row of results.json, or of a plan."""
    return [Note.from_json(note) for note in row.get(CODES, ())]


@cache
def places_of(code: str) -> frozenset[str]:
    """Return the names of the values that a note of this code needs."""
    return frozenset(name for _text, name, _spec, _conversion in Formatter().parse(WORDINGS[code]) if name)


def add_wordings(wordings: Mapping[str, str]) -> None:
    """Add the wordings of a table's own notes. Raises `ValueError` where a code is taken."""
    if doubled := sorted(wordings.keys() & WORDINGS.keys()):
        raise ValueError(f"there are notes {', '.join(doubled)} already")
    WORDINGS.update(wordings)


def in_english(cell: object) -> object:
    """Return the text of notes; return any other cell as it is."""
    return str(cell) if isinstance(cell, Notes) else cell


def in_words(cell: object) -> str:
    """Return a cell as text in the language that is spoken."""
    return cell.text() if isinstance(cell, Notes) else gettext(str(cell))


WORDINGS = {
    # Numbers too small
    "under_two_clusters": _("fewer than two clusters"),
    "under_two_clusters_in_a_group": _("fewer than two clusters in one of the groups"),
    "under_two_clusters_of_a_kind": _("fewer than two clusters of a kind"),
    "under_two_conversations": _("fewer than two conversations"),
    "under_two_shared_conversations": _("fewer than two conversations shared with others"),
    "under_two_complete_conversations": _("fewer than two conversations that all raters rated"),
    "under_two_targets": _("fewer than two targets, or no target with several scores"),
    "under_two_users_or_models": _("fewer than two users or models"),
    "under_two_positions": _("fewer than two positions"),
    "under_two_previous_arms": _("fewer than two arms came before others"),
    "under_two_complete_ratings": _("fewer than two complete ratings"),
    "under_two_ratings_of_all_items": _("fewer than two ratings that answered all items"),
    "under_three_rows": _("fewer than three rows"),
    "under_three_arms": _("fewer than three arms"),
    "under_three_users": _("fewer than three users"),
    "under_three_items": _("a factor needs at least three items"),
    "under_four_rows": _("fewer than four rows"),
    "under_six_pairs": _("fewer than six pairs"),
    "under_eight_users": _("fewer than eight users, of whom resamples say too little"),
    "under_five_people": _("hidden, because there are fewer than five people"),
    "would_reveal_under_five": _("hidden, because a number below five would follow from it"),
    "rare_values_merged": _(
        "values of fewer than five people, merged with one more so that no such number can be worked out"
    ),
    "too_few_ratings_for_a_factor": _("fewer complete ratings than a factor needs"),
    "one_pair": _("one pair"),
    "one_user": _("one user"),
    "one_conversation": _("one conversation"),
    "one_profile": _("one profile"),
    "one_arm_met_or_named": _("one arm alone was met or named"),
    "share_fixed": _("one of the two shares is 0 or 1, and so in every resample"),
    "one_rater_and_cluster": _("one rater and one cluster"),
    "too_few_ratings_for_model": _("too few ratings for a mixed model"),
    "too_large_scores_for_model": _("the scores are too large for a mixed model"),
    "few_clusters": _("only {count} clusters, the interval may be too narrow"),
    "few_counsellors": _("only {count} counsellors, the interval may be too narrow"),
    "few_reviewers": _("only {count} reviewers, the interval may be too narrow"),
    "few_raters_or_clusters": _("only {raters} raters × {clusters} clusters, it may be too narrow"),
    "few_raters_of_many": _("only {raters} raters of {count} conversations, the interval may be too narrow"),
    "near_one": _("near 1 its interval is too narrow"),
    "few_clusters_for_p": _("only {count} clusters, p is approximate"),
    "few_arms": _("few arms ({count}), next to no information"),
    "smallest_p": _("with so few pairs that differ it cannot fall below {smallest}"),
    "too_few_users_for_pairs": _("with {count} users no pair can be told apart"),
    "pairs_with_enough_users": _("{count} of {all} pairs have enough users to be told apart"),
    "raters_with_few_conversations": _(
        "{few} of {all} raters have fewer than {count} conversations, too few for the t-test"
    ),
    "few_raters": _("{count} raters, {advised} or more are advised"),
    "type_unknown": _("codebook.csv gives no type for the item, so its values are taken as numbers in order"),
    # Nothing varies
    "scores_alike": _("the scores do not vary"),
    "scores_alike_within_models": _("the scores within the models do not vary"),
    "human_scores_alike": _("the human scores do not vary"),
    "judge_scores_alike": _("the judge scores do not vary"),
    "values_alike": _("the values do not vary"),
    "means_alike": _("the means do not vary"),
    "answers_alike": _("the answers do not vary"),
    "turns_alike": _("the turns do not vary"),
    "verdicts_alike": _("the verdicts do not vary"),
    "totals_alike": _("the totals do not vary"),
    "differences_alike": _("the differences do not vary"),
    "comparisons_alike": _("the comparisons do not vary"),
    "comparisons_alike_decide": _("the comparisons do not vary, so their value decides"),
    "halves_alike": _("the means of the halves do not vary"),
    "conversations_alike": _("the conversations' means do not differ"),
    "targets_alike": _("the targets' means do not differ"),
    "differ_between_arms_alone": _("the scores differ only between the arms"),
    "lengths_alike": _("within an arm the lengths do not vary"),
    "both_sides_alike": _("neither side varies"),
    "item_alike": _("an item does not vary"),
    "item_follows": _("an item follows from the others"),
    "no_pair_differs": _("no pair differs"),
    "no_difference": _("no difference"),
    "no_resample_varies": _("no resample has variance"),
    "resamples_agree_alike": _("all resamples show the same agreement"),
    "resamples_alike": _("all resamples are alike"),
    "left_out_alike": _("leaving out any one cluster changes nothing"),
    "replicates_alike": _("all replicates are the same"),
    "all_verdicts_alike": _("all verdicts alike, so Wilson's interval with n = clusters"),
    "difference_without_variance": _("the difference has no variance"),
    "correlation_is_one": _("a correlation is 1 or -1"),
    "orders_the_same": _("the two orders are the same, or opposite"),
    "perfect_agreement": _("perfect agreement has no interval"),
    "no_interval": _("no interval could be computed"),
    "no_lower_bound": _("no lower bound, because the raters differ so much"),
    "too_uncertain": _("too uncertain for an interval"),
    "no_curvature": _("the fit is too flat for an interval"),
    "variance_not_positive": _("a variance that comes out as 0 or below has no interval"),
    "variance_is_zero": _("the variance comes out as 0"),
    "error_variance_is_zero": _("the error's variance comes out as 0"),
    "term_variance_is_zero": _("the variance of the {term}s comes out as 0"),
    "no_positive_variance": _("no variance comes out above 0"),
    "counts_as_zero": _("below 0: counts as 0 in erho2 and phi"),
    "less_than_chance": _("{estimate}, the models differ by less than chance"),
    "zero_stands_for_it": _("0 is shown instead"),
    # Nothing can be told apart or fitted
    "no_error_left": _("no residual error is left to estimate"),
    "nothing_beside_users_and_models": _("nothing is left beside users and models"),
    "facets_go_together": _("the facets cannot be told from each other"),
    "position_and_arm_go_together": _("position and arm go together"),
    "previous_arm_goes_together": _("arm, position and previous arm go together"),
    "confounded": _("rater, card and conversation are confounded"),
    "one_level": _("one {term} only"),
    "own_level": _("every rating has its own {term}"),
    "terms_go_together": _("{term} and {other} go together"),
    "without_term": _("no {term} in the model: {reason}"),
    "arm": _("arm"),
    "card": _("card"),
    "conversation": _("conversation"),
    "counsellor": _("counsellor"),
    "item": _("item"),
    "model": _("model"),
    "previous_arm": _("previous arm"),
    "profile": _("profile"),
    "rater": _("rater"),
    "reviewer": _("reviewer"),
    "target": _("target"),
    "user": _("user"),
    "too_many_levels_for_model": _("{count} levels beside those of the largest term; no more than {most} are fitted"),
    "no_factor": _("one factor could not be fitted"),
    "polychoric_contradict": _("the polychoric correlations contradict each other, as they may with few ratings"),
    "polychoric_at_bound": _("two items go together so far that their polychoric correlation is at its bound"),
    "too_many_categories": _("an item has more than {most} categories"),
    "too_many_pairs_of_scores": _("more than {most} different pairs of scores are not resampled"),
    "too_many_scores": _("more than {most} different scores"),
    "too_many_levels_of_scale": _("the scale has more than {most} levels"),
    "scores_not_whole": _("the scores are not whole numbers"),
    "scale_with_one_level": _("the scale has one level only"),
    "scores_between_levels": _("some scores lie between the levels of the scale, as the means of replicates do"),
    "scale_from_scores": _("scale taken from the scores, {lowest} to {highest}: codebook.csv has none"),
    "scale_too_small": _(
        "scale taken from the scores, {lowest} to {highest}: some scores are beyond that of codebook.csv"
    ),
    "contestants_not_connected": _("not all contestants met, not even through others"),
    "always_preferred": _(
        "some contestants were preferred to the others without exception, so no finite strength fits"
    ),
    "no_order": _("no user puts the arms in any order"),
    "ratings_differ_in_number": _("the number of ratings differs between conversations"),
    "one_rater_each": _("one rater per conversation, so no reliability"),
    "one_replicate_each": _("one replicate per conversation, so no reliability"),
    "raters_unreliable": _("the raters' reliability is not above 0"),
    "replicates_unreliable": _("the replicates' reliability is not above 0"),
    "henderson_has_no_interval": _("Henderson's method 1, by which it was computed, gives no interval"),
    "not_both_r": _("at least one of the two r does not exist"),
    "no_r": _("no r"),
    "no_ceiling": _("no ceiling"),
    "unreachable_r": "with so little reliability, not even a perfect judge would reach the r there is",
    "is_f": _("it is an F"),
    "is_chi_square": _("it is a chi-square"),
    "is_count": _("a count has no interval"),
    "is_share_of_decisions": _("a share of test decisions has no interval"),
    "without_error": _("it describes what was given, without error"),
    "on_row_of_all_items": _("on the row of item *"),
    "on_rows_of_items": _("on the rows of the items"),
    "own_conversations": _("each rater had their own conversation"),
    "over_two_raters": _("more than two raters"),
    "one_sample_in_omega": _("{count} ratings of {clusters} clusters count as independent"),
    "upper_bound": _("an upper bound, by the people's reliability alone, as the judge scored once"),
    "components_by_delta": _("(A,·) and (C,·) by REML variance components over all ratings, delta-method intervals"),
    "components_by_jackknife": _("(A,·) and (C,·) by REML variance components over all ratings, jackknife intervals"),
    "one_way_over_all": _("one-way over all ratings, k = {count} ratings on average"),
    "items_opposed": _(
        "the items do not point the same way (people's Cronbach's alpha {alpha}), so their mean says little: reverse "
        "the negative items before the analysis"
    ),
    "mean_over_items": _("mean over {count} items"),
    "one_rater": _("one rater"),
    "conditions_together": _("average and worst-case seekers count together"),
    "seekers_together": _("several kinds of seekers count together"),
    "raters_not_left_out": _(
        "only {count} raters, who differ between conversations: too few to leave out in turn, so only people are "
        "left out (with 3 to 7 raters, such intervals contained r in .85 to .95 of simulated studies)"
    ),
    "wrong_guess_weighs": _("{count} arms: a wrong guess weighs 1/{others}"),
    "not_a_ratio_scale": _("scores below 0 are of no ratio scale"),
    "for_independent_rows": _(
        "only valid for independent rows, but {count} conversations come from {clusters} people or profiles"
    ),
    "conversations_independent": _("{count} conversations of {clusters} clusters count as independent"),
    "independent_in_t_test": _("the t-test takes {count} conversations of {clusters} clusters as independent"),
    # The check by other packages
    "not_comparable": _("not comparable: {reason}"),
    "no_number_in_table": _("the table has no number"),
    "no_number_in_package": _("the package gives no number"),
    "package_fails": _("the package fails ({error})"),
    "statsmodels_fails": _("statsmodels does not converge, as where a variance comes out as 0"),
    "sample_without_arms": _("the sample does not tell the arms apart"),
    "no_random_term": _("no random term is left"),
    "components_against_complete": _(
        "the table uses variance components over all ratings, but the package leaves out what has gaps"
    ),
    "sample_of_clusters": _("a sample of {count} of {all} clusters"),
    "sample_of_ratings": _("a sample of {count} of {all} ratings"),
    # Nothing is there
    "nobody_answered": _("no one answered"),
    "nobody_named_an_arm": _("no one named an arm"),
    "nobody_sure": _("no one said how sure they were"),
    "nobody_met_both": _("no one met both arms"),
    "no_scores": _("there are no scores to compare"),
    "no_such_arm": _("no arm {arms} in the data"),
    "no_such_raters": _("no raters {raters}"),
    "sample_too_small": _("this sample leaves too little to compute it from"),
    "named_not_met": _("named but met by no one: {arms}"),
    "column_missing": _("participants.csv has no {columns} for anyone"),
    "turns_missing": _("conversations.csv has no turns"),
    "declared_late": _("declared after the first answer"),
    "no_rating_of_all_items": _("no rating answered all items"),
    "items_unanswered": _("not all items were answered"),
    "not_measured": _("it was not measured"),
    "all_missing": _("every score is missing"),
    "scale_unknown": _("the item's scale is not known"),
    "language_unknown": _("the language is not known, there may be several"),
    "tokens_unknown": _("the tokens are not known"),
    "time_unknown": _("the time is not known"),
    "price_unknown": _("no price is known"),
    "tokens_unknown_of": _("{count} conversations are left out: their tokens are not known"),
    "time_unknown_of": _("{count} conversations are left out: their time is not known"),
    "price_unknown_of": _("{count} conversations are left out: their price is not known"),
    "no_turns_file": _("there is no turns.csv"),
    "unknown_of_replies": _("turns.csv does not give it for any reply"),
    "conversations_not_in_turns": _("turns.csv has none of these conversations"),
    "share_of_nothing": _("there is nothing to take a share of"),
    "no_person_twice": _("no participant has two conversations"),
    "no_two_raters": _("no conversation that the judge scored has two of these raters"),
    "no_rater_shares": _("no rater shares two conversations with others"),
    "no_two_turns": _("no conversation was scored at two turns"),
    "before_or_after_unknown": _("no conversation has values from both before and after"),
    "no_whole_seeker": _("no profile was met by the unchanged seeker too"),
    "nobody_in_both_conditions": _("no profile and no person was met in both conditions"),
    "no_user_met_all_models": _("no user met every model"),
    "no_user_met_two_models": _("no user met two models"),
    "no_preference": _("no cluster prefers either"),
    "place_unknown": _("no verdict prefers a side that is known to have been first or second"),
    "no_pair_in_both_orders": _("no pair was judged in both orders"),
    "not_scored_twice": _("nothing was scored by both the unchanged judge and this variant"),
    "maker_unknown": _("the maker of the judge's model is not known"),
    "makers_alike": _("there are no supporters of the judge's own maker, or none of other makers"),
    "no_other_maker": _("no judge of another maker with this strategy"),
    "one_makers_supporters": _("judges of several makers scored supporters of one maker only"),
    "half_still_open": _("more than half are still open after the last known turn"),
    "nothing_ended": _("no conversation ended in a way that counts"),
    "too_few_clusters_for_f": _("{count} clusters are too few to test so many arms"),
    "too_few_ends": _("too few ends, or too few clusters, to compare all arms"),
    "regular_ends": _("{count} conversations with a regular end count as if they had gone on like the others"),
    "median_not_reached": _("more than half may still be open after the last known turn"),
    "turn_unknown_without_cluster": _("without one of the clusters nothing is known of that turn"),
    "undefined_without_cluster": _("it is undefined if one of the clusters is left out"),
    "one_without_cluster": _("without one of the clusters the correlation is 1 or -1"),
    # Something was left out
    "resamples_without_variance": _("{count} of {all} resamples had no variance and are left out"),
    "resamples_undefined": _("it could not be computed in {count} of {all} resamples; these are left out"),
    "resamples_censored": _("{count} of {all} resamples are left out: in them, nothing is known of that turn"),
    "resamples_without_strengths": _("{count} of {all} resamples have no finite strengths"),
    "resamples_left_out": _("{count} of {all} resamples without finite strengths are left out"),
    "complete_conversations": _("{count} of {all} conversations rated by all {raters} raters"),
    "complete_ratings": _("{count} of {all} ratings answered all items"),
    "scores_with_gaps": _("{count} of {all} scores of users or raters with gaps are left out"),
    "share_of_replies": _("{count} of {all} replies"),
    "with_score": _("{count} of {all} have a score"),
    "users_in_pairs_alone": _("{count} of {all} users did not meet every model: they count in the pairs alone"),
    "pairs_met_by_nobody": _("{count} of {all} pairs count as not different, because no user met both arms"),
    "profiles_without_whole": _("{count} profiles without the unchanged seeker are left out"),
    "sizes_of_groups": _("profiles or people: {average} average, {worst_case} worst case"),
    "in_one_condition": _("{count} profiles or people met in one condition only are left out"),
    "before_or_after_unknown_of": _("{count} conversations are left out: one of the two values is not known"),
    "early_emotion": _("in {count} conversations, the last emotion is from before the last reply"),
    "previous_unknown": _("{count} conversations are left out: what came before is not known"),
    "with_one_rater": _("{count} conversations with one of these raters are left out"),
    "scored_by_one_strategy": _("{count} that only one of the two strategies scored are left out"),
    "pairs_in_one_order": _("{count} pairs were judged in one order only"),
    "panel_of": _("the mean over {count} judges"),
    "probe_without_score": _("{count} answers of the probe have no score"),
    # Before a colon, and what stands behind it
    "interval": _("interval"),
    "conversations": _("conversations: {codes}"),
    # Tests and corrections
    "wilcoxon_by_user": _("Wilcoxon signed-rank, paired by user"),
    "holm_over_pairs": _("Holm over the pairs of an item, .05"),
    # Methods
    "bca": "BCa",
    "percentile": _("percentile"),
    "student_t": _("Student's t"),
    "bonett_wright": "Bonett–Wright",
    "cluster_bootstrap": _("{interval} cluster bootstrap"),
    "cluster_bootstrap_on_z": _("{interval} cluster bootstrap on Fisher's z"),
    "two_way_bootstrap_on_z": _("{interval} two-way cluster (counsellors × arms) bootstrap on Fisher's z"),
    "jackknife_on_z": _("{interval}, on Fisher's z"),
    "two_way_jackknife": _("two-way jackknife ({kinds}), Student's t"),
    "people_and_raters": _("people × raters"),
    "counsellors_and_arms": _("counsellors × arms"),
    "paired_bootstrap": _("{interval} paired cluster bootstrap"),
    "paired_two_way_bootstrap": _("{interval} paired two-way cluster (counsellors × arms) bootstrap"),
    "weighted_bootstrap": _("quadratic weights, {interval} cluster bootstrap"),
    "corrected_bootstrap": _("percentile cluster bootstrap, error taken off twice"),
    "bootstrap_of": _("percentile cluster bootstrap ({drawn})"),
    "pigeonhole_bootstrap_of": _("percentile pigeonhole bootstrap ({drawn})"),
    "participants": _("participants"),
    "raters": _("raters"),
    "raters_and_participants": _("raters × participants"),
    "wilcoxon_exact": _("Wilcoxon exact"),
    "wilcoxon_exact_with_ties": _("Wilcoxon exact, all signs tried"),
    "wilcoxon_and_shift": _("Wilcoxon's signed-rank test and the Hodges–Lehmann shift"),
    "wilcoxon_asymptotic": _("Wilcoxon asymptotic"),
    "wilson": _("Wilson, n = clusters"),
    "wilson_effective": _("Wilson, effective n"),
    "wilson_of_pairs": _("Wilson with n = clusters"),
    "arms": _("{count} arms"),
    "paired": _("paired"),
    "not_paired": _("not paired"),
    "count": _("count"),
    "wald_f_reml": _("Wald F (REML), {numerator} and {df} df"),
    "log_rank": _("log-rank, hypergeometric variance"),
    "log_rank_of_clusters": _("log-rank, variance of clusters"),
    "log_rank_f": _("log-rank, variance of clusters, F test"),
    "degrees_of_freedom": _("degrees of freedom: {count}"),
    "score_interval": _("score, n = clusters"),
    "t_interval": _("t interval"),
    "f_interval": _("F interval"),
    "t_welch": _("t interval (Welch)"),
    "t_satterthwaite": _("t interval (Satterthwaite)"),
    "normal_without_df": _("normal interval, no degrees of freedom"),
    "normal_known_variances": _("normal interval, variances taken as known"),
    "chi_square_satterthwaite": _("chi-square interval (Satterthwaite)"),
    "delta_on_logit": _("delta-method interval on the logit"),
    "f": _("F"),
    "jackknife": _("jackknife of clusters, Student's t"),
    "reliability_by_consistency": _("people's reliability ICC(C,k), as the same raters scored all"),
    "reliability_by_components": _("people's reliability from variance components, raters among the error"),
    "reliability_one_way": _("people's reliability ICC(1,k), one-way"),
    "jackknife_and_chi_square": _("jackknife of clusters, Student's t, raters by chi-square"),
    "jackknife_by_newton": _("jackknife of clusters, Student's t, one step of Newton's"),
    "anova": "ANOVA",
    "reml": "REML",
    "blup": "BLUP",
    "henderson": _("Henderson's method 1"),
    "epsilon": _("epsilon {value}"),
    # Of a plan of precision
    "reliability_of_one_rater": _(
        "the reliability of a single rating is assumed, because no conversation has several raters of this kind"
    ),
    "reliability_not_above_zero": _(
        "the reliability of a single rating is assumed, because the ICC of the existing ratings is not above 0"
    ),
    "arms_not_left_out": _(
        "counsellors rated their own conversations; here only counsellors are left out, the report leaves out arms too"
    ),
    "of_another_version": _("a note of another version of emostudy ({code})"),
    "accuracy_tested": _("accuracy, one-sided t, Benjamini–Yekutieli"),
    "negative_rmse_tested": _("negative_rmse, one-sided t, Benjamini–Yekutieli"),
}

INTERVAL = Note("interval")  # what a note on the bounds is about, in tables whose bounds have plain names
