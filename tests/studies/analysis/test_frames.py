import hashlib
import json
from pathlib import Path

import pytest

from dialogue.models.conversation import EndReason, SeekerKind
from studies.analysis import AnalysisError, compute
from studies.analysis.frames import CONDITIONS, END_REASONS, MOMENTS, SEEKER_KINDS, first_of_people, load, read_ratings
from studies.analysis.odd_ratings import OutsideScale, Repeats, UnknownItem, UnlistedConversations
from studies.data.exports import tables
from studies.workbench.csv_cells import guard_formula

HEADER = "conversation,rater,rater_kind,instrument,item,score"


def ratings(folder: Path, text: str) -> Path:
    path = folder / "ratings.csv"
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "ratings.csv: is empty"),
        (f"{HEADER}\n".replace(",", ";"), "ratings.csv:1: is separated by semicolons"),
        ("conversation,rater,rater_kind,instrument,item\n", "ratings.csv:1:score: the column is missing"),
        (f"{HEADER},item\nC,R,crowd,i,a,1,b\n", "ratings.csv:1:item: the column is there twice"),
        (f"{HEADER}\nC,R,crowd,i,a,1\nC,R,crowd,i,b,good\n", "ratings.csv:3:score: 'good' is not a number"),
        (f"{HEADER}\nC,R,crowd,i,a,nan\n", "ratings.csv:2:score: 'nan' is not a number"),
        (f"{HEADER}\nC,R,crowd,i,a,inf\n", "ratings.csv:2:score: 'inf' is not a number"),
        (f"{HEADER}\nC,R,crowd,i,a,1e999\n", "ratings.csv:2:score: '1e999' is not a number"),
        (
            f"{HEADER}\nC,R,crowd,i,a,1\nC,R,crowd,i,b,-1e200\n",
            "ratings.csv:3:score: '-1e200' is beyond any scale or amount (at most 1,000,000,000,000)",
        ),
        (f'{HEADER}\nC,R,crowd,i,a,"3,5"\n', "ratings.csv:2:score: '3,5' is not a number; write 3.5"),
        (f'{HEADER}\nC,R,crowd,i,a,"1,2,3"\n', "ratings.csv:2:score: '1,2,3' is not a number"),
        (
            "conversation,rater\nC,R\n",
            "ratings.csv:1:rater_kind: the columns rater_kind, instrument, item, score are missing (the header has "
            "conversation, rater)",
        ),
        (
            f"{HEADER}\n".title(),
            "ratings.csv:1:conversation: the columns conversation, rater, rater_kind, instrument, item, score are "
            "missing; write the names in small letters: conversation, rater, rater_kind, instrument, item, score (the",
        ),
        (f"{HEADER}\n{HEADER}\nC,R,crowd,i,a,1\n", "ratings.csv:2: is the header again; remove this line"),
        (f"{HEADER}\nC,R,friend,i,a,1\n", "ratings.csv:2:rater_kind: 'friend' is not one of seeker, expert,"),
        (f"{HEADER}\n,R,crowd,i,a,1\n", "ratings.csv:2:conversation: is empty"),
        (f"{HEADER},turn\nC,R,crowd,i,a,1,2.5\n", "ratings.csv:2:turn: '2.5' is not a whole number"),
        (f"{HEADER},turn\nC,R,crowd,i,a,1,-1\n", "ratings.csv:2:turn: '-1' is not a whole number from 0 to 100,000"),
        (f"{HEADER},turn\nC,R,crowd,i,a,1,100001\n", "ratings.csv:2:turn: '100001' is not a whole number from 0 to"),
        (f"{HEADER},replicate\nC,R,crowd,i,a,1,x\n", "ratings.csv:2:replicate: 'x' is not a whole number from 0 to"),
        (f"{HEADER},replicate\nC,R,crowd,i,a,1,-1\n", "ratings.csv:2:replicate: '-1' is not a whole number from 0 to"),
        (f"{HEADER},seconds\nC,R,crowd,i,a,1,-1\n", "ratings.csv:2:seconds: '-1' is below 0"),
        (
            f"{HEADER},moment\nC,R,crowd,i,a,1,Final\n",
            "ratings.csv:2:moment: 'Final' is not one of turn, checkpoint, fi",
        ),
        (
            f"{HEADER},condition\nC,R,crowd,i,a,1,hard\n",
            "ratings.csv:2:condition: 'hard' is not one of average, worst_ca",
        ),
        (f'{HEADER}\n"C\n1",R,crowd,i,a,1\n\nC,R,crowd,i,b,x\n', "ratings.csv:5:score: 'x' is not a number"),
        (f"{HEADER}\nC,R,crowd,i,a,1\nC,R,crowd\n", "ratings.csv:3: 3 fields under 6 columns"),
        (f"{HEADER}\nC,R,crowd,i,a,1\nC,R,crowd,i,a,1,9\n", "ratings.csv:3: 7 fields under 6 columns"),
        (f"{HEADER}\nC,R,crowd,i,a,1,9\n", "ratings.csv:2: 7 fields under 6 columns"),
        (f'{HEADER}\nC,R,crowd,i,a,1\nC,R,crowd,i,"a,1\n', "ratings.csv:3: a quotation mark is not closed"),
        (f"{HEADER}\nC,R,crowd,i,a,\n", "ratings.csv: no rating has a score"),
        (
            f"{HEADER},participant\nC,R,crowd,i,a,1,P1\nC,R,crowd,i,b,1,P2\n",
            "ratings.csv:3:participant: conversation C has two of them",
        ),
    ],
)
def test_load_names_file_line_and_column_of_a_fault(tmp_path: Path, text: str, fault: str) -> None:
    ratings(tmp_path, text)
    with pytest.raises(AnalysisError) as raised:
        load(tmp_path)
    assert str(raised.value).startswith(fault)
    assert "\n" not in str(raised.value)


def test_load_of_a_folder_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError) as raised:
        load(tmp_path / "exprot")
    assert str(raised.value) == f"{tmp_path / 'exprot'}: there is no such folder"


def test_load_of_a_file_names_its_folder(tmp_path: Path) -> None:
    path = ratings(tmp_path, f"{HEADER}\nC,R,crowd,i,a,1\n")
    with pytest.raises(AnalysisError) as raised:
        load(path)
    assert str(raised.value) == f"{path}: is a file; give the folder that holds it, {tmp_path}"


def test_load_without_ratings_says_so(tmp_path: Path) -> None:
    with pytest.raises(AnalysisError, match=r"^ratings\.csv: there is no such file in "):
        load(tmp_path)


def test_load_refuses_other_encodings(tmp_path: Path) -> None:
    (tmp_path / "ratings.csv").write_bytes(f"{HEADER}\nC,R,crowd,i,\xfc,1\n".encode("latin-1"))
    with pytest.raises(AnalysisError, match=r"^ratings\.csv:2: is not UTF-8 \(invalid start byte at byte 64\); save"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("'=1+1", "=1+1"),
        ("'+a", "+a"),
        ("'-a", "-a"),
        ("'@a", "@a"),
        ("'tis", "'tis"),
        ("007", "007"),
    ],
)
def test_read_ratings_takes_the_spreadsheet_guard_off(tmp_path: Path, written: str, read: str) -> None:
    path = ratings(tmp_path, f"{HEADER}\nC,{written},crowd,i,a,1\nC,{read},crowd,i,b,2\n")
    assert list(read_ratings(path)["rater"]) == [read, read] if written != read else [written, read]


@pytest.mark.parametrize("text", ["=a", "'=a", "''=a", "'tis", "a"])
def test_read_ratings_reads_what_an_export_was_given(tmp_path: Path, text: str) -> None:
    path = ratings(tmp_path, f"{HEADER}\nC,{guard_formula(text)},crowd,i,a,1\n")
    assert list(read_ratings(path)["rater"]) == [text]


def test_read_ratings_keeps_an_empty_score_missing_and_signs_as_they_are(tmp_path: Path) -> None:
    scores = read_ratings(ratings(tmp_path, f"{HEADER}\nC,R,crowd,i,a,\nC,R,crowd,i,b,-2.5\nC,R,crowd,i,c,1e1\n"))[
        "score"
    ]
    assert scores.isna().tolist() == [True, False, False]
    assert scores[1:].tolist() == [-2.5, 10.0]


def test_read_ratings_reads_a_byte_order_mark_and_turns_saved_as_floats(tmp_path: Path) -> None:
    path = ratings(tmp_path, f"\ufeff{HEADER},turn\nC,R,crowd,i,a,1,5.0\nC,R,crowd,i,b,1,5\n")
    assert list(read_ratings(path)["turn"]) == ["5", "5"]


def test_load_takes_participant_and_arm_of_a_conversation_from_the_rows_that_have_them(tmp_path: Path) -> None:
    ratings(tmp_path, f"{HEADER},participant,arm\nC,P,seeker,i,a,1,P,x\nC,J,judge,i,a,1,,\nD,J,judge,i,a,1,,\n")
    conversations = load(tmp_path).conversations[["participant", "arm", "cluster"]]
    assert conversations.loc["C"].tolist() == ["P", "x", "P"]
    assert conversations.loc["D"].tolist() == ["", "", "conversation D"]


def test_load_leaves_out_who_and_what_two_coders_left_out(tmp_path: Path) -> None:
    rows = ["C,P1,P1,seeker,i,a,1", "C,J,P1,judge,i,a,2", "D,P2,P2,seeker,i,a,3", "D,R,P2,reviewer,i,a,4"]
    rows += ["E,P2,P2,seeker,i,a,5", "F,P3,P3,seeker,i,a,2", "G,J,,judge,i,a,1"]
    ratings(tmp_path, "conversation,rater,participant,rater_kind,instrument,item,score\n" + "\n".join(rows) + "\n")
    (tmp_path / "participants.csv").write_text("participant,excluded\nP1,true\nP2,false\nP3,false\nR,true\n")
    (tmp_path / "conversations.csv").write_text(
        "conversation,participant,valid\nC,P1,true\nD,P2,true\nE,P2,false\nF,P3,true\n"
    )
    (tmp_path / "turns.csv").write_text("conversation,role,text\nC,supporter,a\nD,supporter,b\nX,supporter,c\n")
    export = load(tmp_path)
    assert export.ratings["score"].tolist() == [3, 2, 1]
    assert export.left_out["score"].tolist() == [1, 2, 4, 5]
    assert export.conversations.index.tolist() == ["D", "F", "G"]
    assert export.replies is not None
    assert export.replies["conversation"].tolist() == ["D", "X"]


@pytest.mark.parametrize(("yes", "no"), [("true", "false"), ("TRUE", "FALSE"), ("True", "False"), ("1", "0")])
def test_load_leaves_out_by_decision_however_a_spreadsheet_wrote_it(tmp_path: Path, yes: str, no: str) -> None:
    ratings(tmp_path, f"{HEADER},participant\nC,P,seeker,i,a,1,P\nD,Q,seeker,i,a,2,Q\nE,R,seeker,i,a,3,R\n")
    (tmp_path / "participants.csv").write_text(f"participant,excluded\nP,{yes}\nQ,{no}\nR,\n")
    (tmp_path / "conversations.csv").write_text(f"conversation,valid\nC,{yes}\nD,{yes}\nE,{no}\n")
    export = load(tmp_path)
    assert export.ratings["score"].tolist() == [2]
    assert (len(export.excluded), export.invalid_conversations) == (1, 1)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("participants", "participant,excluded\nC,FALSE\nC,yes\n", "3:excluded: 'yes' is neither true nor false"),
        ("conversations", "conversation,valid\nC,WAHR\n", "2:valid: 'WAHR' is neither true nor false"),
        ("turns", "conversation,role,text,masked\nC,seeker,a,2\n", "2:masked: '2' is neither true nor false"),
        ("conversations", "conversation,position\nC,1\nD,2\nC,1\n", "4:conversation: 'C' is in line 2 already"),
        ("conversations", "conversation,position\nC,1\nC,2\n", "3:conversation: 'C' is in line 2 already"),
        ("conversations", "conversation,position\nC,1\n,\n", "3:conversation: is empty"),
        (
            "conversations",
            "conversation,end_reason\nC,\nD,walkedout\n",
            "3:end_reason: 'walkedout' is not one of finished, early, walked_out, satisfied, cap, safety, technical, "
            "withdrawn",
        ),
        (
            "conversations",
            "conversation,condition\nC,Average\n",
            "2:condition: 'Average' is not one of average, worst_case",
        ),
        (
            "conversations",
            "conversation,seeker_kind\nC,student\n",
            "2:seeker_kind: 'student' is not one of person, counsellor, simulated, imported",
        ),
        ("conversations", "conversation,turns\nC,-3\n", "2:turns: '-3' is not a whole number from 0 to 100,000"),
        ("conversations", "conversation,turns\nC,\nD,2.5\n", "3:turns: '2.5' is not a whole number from 0 to 100,000"),
        (
            "conversations",
            "conversation,participant,position\nC,P,1\nD,Q,1\nE,P,\nF,P,\nG,,1\nH,,1\nI,P,1.0\n",
            "8:position: P has conversation C at position 1.0 already",
        ),
        (
            "turns",
            "conversation,role,text,turn\nC,seeker,a,1.5\n",
            "2:turn: '1.5' is not a whole number from 0 to 100,000",
        ),
        ("turns", "conversation,role,text,total_ms\nC,supporter,a,-5\n", "2:total_ms: '-5' is below 0"),
        ("turns", "conversation,role,text,first_token_ms\nC,supporter,a,-5\n", "2:first_token_ms: '-5' is below 0"),
    ],
)
def test_load_names_the_fault_of_another_file(tmp_path: Path, name: str, text: str, fault: str) -> None:
    ratings(tmp_path, f"{HEADER}\nC,R,crowd,i,a,1\n")
    (tmp_path / f"{name}.csv").write_text(text)
    with pytest.raises(AnalysisError) as raised:
        load(tmp_path)
    assert str(raised.value) == f"{name}.csv:{fault}"


@pytest.mark.parametrize(
    ("column", "said", "listed"), [("arm", "x", "y"), ("participant", "P", "Q"), ("condition", "average", "worst_case")]
)
def test_load_refuses_a_rating_of_which_conversations_says_something_else(
    tmp_path: Path, column: str, said: str, listed: str
) -> None:
    rows = [f"C,R,crowd,i,a,1,{said}", "D,R,crowd,i,a,1,", f"E,R,crowd,i,a,1,{said}", "F,R,crowd,i,a,1,"]
    rows += [f"F,R,crowd,i,b,1,{said}"]
    ratings(tmp_path, f"{HEADER},{column}\n" + "\n".join(rows) + "\n")
    path = tmp_path / "conversations.csv"
    path.write_text(f"conversation,{column}\nC,{said}\nD,{listed}\nE,\n")
    assert len(load(tmp_path).ratings) == len(rows)
    path.write_text(f"conversation,{column}\nC,{said}\nD,{listed}\nE,\nF,{listed}\n")
    with pytest.raises(AnalysisError) as raised:
        load(tmp_path)
    fault = f"ratings.csv:6:{column}: '{said}' is not what conversations.csv says of conversation F, '{listed}'"
    assert str(raised.value) == fault


def test_closed_lists_are_those_of_the_exported_files() -> None:
    assert CONDITIONS == tables.CONDITIONS
    assert MOMENTS == tables.MOMENTS
    assert list(SEEKER_KINDS) == SeekerKind.values
    assert list(END_REASONS) == EndReason.values


@pytest.mark.parametrize("kind", ["scale", "likert"])
@pytest.mark.parametrize(("column", "shown"), [("", ""), (",last_turn", ",7")])
def test_load_refuses_a_score_that_is_not_on_the_scale_of_the_codebook(
    tmp_path: Path, column: str, shown: str, kind: str
) -> None:
    rows = ["C,R,crowd,i,a,5", "C,R,crowd,i,b,55", "C,R,crowd,j,a,55", "C,R,crowd,i,c,55", "D,R,crowd,i,a,"]
    rows += ["D,R,crowd,i,a,55", "E,R,crowd,i,a,0"]
    ratings(tmp_path, f"{HEADER}{column}\n" + "".join(f"{row}{shown}\n" for row in rows))
    told = f"i.json,a,{kind},1,5\ni.json,b,scale,0,100\ni.json,c,single,,\n"
    (tmp_path / "codebook.csv").write_text(f"file,column,type,minimum,maximum\n{told}")
    with pytest.raises(AnalysisError) as raised:
        load(tmp_path)
    said = "ratings.csv:7:score: 55 is not on the scale of i a, 1 to 5 by codebook.csv (conversation D)"
    assert str(raised.value) == said


@pytest.mark.parametrize("turns", [("", ""), ("5", "6"), ("5.0", "")])
def test_final_ratings_are_of_the_conversation_whatever_their_turn(tmp_path: Path, turns: tuple[str, str]) -> None:
    rows = [f"C,P,seeker,i,a,1,final,{turns[0]}", f"C,J,judge,i,a,2,final,{turns[1]}", "C,P,seeker,i,a,3,checkpoint,5"]
    ratings(tmp_path, f"{HEADER},moment,turn\n" + "".join(f"{row}\n" for row in rows))
    export = load(tmp_path)
    assert export.ratings[["moment", "turn"]].astype(str).to_numpy().tolist() == [
        ["final", ""],
        ["final", ""],
        ["checkpoint", "5"],
    ]
    assert len(compute(export, tables=["agreement"], bootstrap=5)["agreement"]) == 1


def test_load_takes_any_score_of_an_import(tmp_path: Path) -> None:
    ratings(tmp_path, f"{HEADER},last_turn\nC,R,crowd,i,a,55,\nD,R,crowd,i,a,5,7\n")
    (tmp_path / "codebook.csv").write_text("file,column,type,minimum,maximum\ni.json,a,scale,1,5\n")
    export = load(tmp_path)
    assert export.ratings["score"].tolist() == [55, 5]
    assert "last_turn" not in export.ratings
    assert export.odd.outside == OutsideScale(1, 2, "i", "a", 55, 1, 5)


def test_load_counts_repeated_ratings_and_names_the_line_of_the_first(tmp_path: Path) -> None:
    rows = ["C,R,crowd,i,b,", "C,R,crowd,i,a,1", "C,R,crowd,i,a,2", "C,S,crowd,i,a,3", "C,R,crowd,i,a,4"]
    ratings(tmp_path, HEADER + "".join(f"\n{row}" for row in rows))
    assert load(tmp_path).odd.repeats == Repeats(2, 4)


def test_load_counts_rated_conversations_that_are_not_listed_and_names_the_first(tmp_path: Path) -> None:
    ratings(tmp_path, HEADER + "".join(f"\n{name},R,crowd,i,a,1" for name in ("C", "c", "c", "D ")))
    assert load(tmp_path).odd.unlisted is None
    (tmp_path / "conversations.csv").write_text("conversation\nC\nD\n")
    assert load(tmp_path).odd.unlisted == UnlistedConversations(2, 3, "c")


def test_load_finds_items_that_the_codebook_or_our_questionnaire_does_not_have(tmp_path: Path) -> None:
    items = [("i", "warmth"), ("i", "warm"), ("j", "cold"), ("emoharbor_10", "empathy"), ("emoharbor_10", "empathetic")]
    ratings(tmp_path, HEADER + "".join(f"\nC,R,crowd,{instrument},{item},1" for instrument, item in [*items, *items]))
    (tmp_path / "codebook.csv").write_text("file,column,type,minimum,maximum\ni.json,warmth,scale,1,5\n")
    assert load(tmp_path).odd.unknown == (
        UnknownItem("i", "warm", 3, "warmth"),
        UnknownItem("emoharbor_10", "empathy", 5, "empathetic"),
    )


def test_load_refuses_an_export_of_which_nothing_is_left(tmp_path: Path) -> None:
    ratings(tmp_path, f"{HEADER}\nC,R,crowd,i,a,1\n")
    (tmp_path / "conversations.csv").write_text("conversation,valid\nC,false\n")
    with pytest.raises(AnalysisError, match="every rating is of a person or conversation that is left out"):
        load(tmp_path)


def test_load_knows_counsellors_own_conversations_by_track_or_by_their_rating(tmp_path: Path) -> None:
    rows = ["C,E1,E1,expert", "D,E2,P,expert", "F,J,E3,judge"]
    lines = [f"{row},i,a,1\n" for row in rows]
    ratings(tmp_path, "conversation,rater,participant,rater_kind,instrument,item,score\n" + "".join(lines))
    (tmp_path / "conversations.csv").write_text("conversation,seeker_kind,card\nD,person,\nF,counsellor,K7\n")
    conversations = load(tmp_path).conversations
    assert conversations["counsellors"].tolist() == [True, False, True]
    assert conversations["card"].tolist() == ["", "", "K7"]


def test_load_counts_what_is_missing_repeated_excluded_and_invalid(tmp_path: Path) -> None:
    row = "C,R,crowd,i"
    path = ratings(tmp_path, f"{HEADER},missing_reason\n{row},a,1,\n{row},a,3,\n{row},b,,skipped\n{row},c,,\n")
    (tmp_path / "participants.csv").write_text("participant,excluded\nP1,true\nP2,false\n")
    (tmp_path / "conversations.csv").write_text("conversation,valid\nD,false\n")
    (tmp_path / "manifest.json").write_text(json.dumps({"demonstration": True}))
    export = load(tmp_path)
    assert (export.missing, export.repeated) == ({"no reason given": 1, "skipped": 1}, 1)
    assert (len(export.excluded), export.invalid_conversations) == (1, 1)
    assert export.rows == {"ratings.csv": 4, "participants.csv": 2, "conversations.csv": 1}
    assert export.demonstration
    assert export.hashes["ratings.csv"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert export.absent == (
        "answers.csv",
        "scales.csv",
        "turns.csv",
        "states.csv",
        "pairs.csv",
        "calls.csv",
        "profiles.csv",
        "codebook.csv",
    )


def test_load_names_a_broken_manifest(tmp_path: Path) -> None:
    ratings(tmp_path, f"{HEADER}\nC,R,crowd,i,a,1\n")
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(AnalysisError, match=r"^manifest\.json: is not JSON"):
        load(tmp_path)


def test_load_takes_the_profile_for_the_cluster_of_a_simulated_seeker(tmp_path: Path) -> None:
    ratings(
        tmp_path, f"{HEADER},participant\nC,S,simulated_seeker,i,a,1,\nD,S,simulated_seeker,i,a,2,\nE,R,crowd,i,a,1,P\n"
    )
    (tmp_path / "conversations.csv").write_text(
        "conversation,participant,profile,condition\nC,,P,average\nD,,P,worst_case\nE,P,P,\n"
    )
    export = load(tmp_path)
    assert export.conversations["cluster"].tolist() == ["profile P", "profile P", "P"]
    assert export.conversations["condition"].tolist() == ["average", "worst_case", ""]
    assert export.chats["cluster"].tolist() == ["profile P", "profile P", "P"]


def test_load_takes_the_condition_of_the_ratings_where_no_other_file_tells(tmp_path: Path) -> None:
    ratings(tmp_path, f"{HEADER},condition,arm\nC,R,crowd,i,a,1,average,x\nD,R,crowd,i,a,1,,x\n")
    assert load(tmp_path).conversations["condition"].tolist() == ["average", ""]
    assert load(tmp_path).whole()["condition"].tolist() == ["average", ""]
    (tmp_path / "conversations.csv").write_text("conversation,condition\nC,\nD,worst_case\n")
    assert load(tmp_path).conversations["condition"].tolist() == ["average", "worst_case"]


def test_load_keeps_ablations_apart(tmp_path: Path) -> None:
    ratings(tmp_path, f"{HEADER}\nC,S,simulated_seeker,i,a,1\nD,S,simulated_seeker,i,a,2\nE,S,simulated_seeker,i,a,3\n")
    (tmp_path / "conversations.csv").write_text(
        "conversation,setup,valid,turns\nC,,true,4\nD,one agent,true,3\nE,one agent,false,\n"
    )
    (tmp_path / "turns.csv").write_text("conversation,role,text\nC,supporter,a\nD,supporter,b\n")
    export = load(tmp_path)
    assert export.ratings["score"].tolist() == [1]
    assert export.ablated["score"].tolist() == [2]
    assert export.left_out.empty
    assert export.conversations.index.tolist() == ["C"]
    assert export.chats["turns"].to_dict() == {"C": 4, "D": 3}
    assert export.whole().index.tolist() == ["C"]
    assert export.replies is not None
    assert export.replies["conversation"].tolist() == ["C"]


def test_older_exports_without_the_newer_columns_are_read(tmp_path: Path) -> None:
    ratings(tmp_path, f"{HEADER}\nC,R,crowd,i,a,1\n")
    (tmp_path / "conversations.csv").write_text("conversation,arm\nC,x\nD,y\n")
    chats = load(tmp_path).chats
    assert chats["setup"].tolist() == ["", ""]
    assert chats[["turns", "valence_before"]].isna().all(axis=None)


def test_the_first_replicate_of_a_person_is_that_of_the_lowest_number(tmp_path: Path) -> None:
    rows = "".join(f"C,R,reviewer,i,a,{score},{replicate}\n" for score, replicate in ((1, 10), (2, 2), (3, 11)))
    found = first_of_people(read_ratings(ratings(tmp_path, f"{HEADER},replicate\n{rows}")))
    assert list(found["score"]) == [2]
