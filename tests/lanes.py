"""Which files and folders of tests run where; all paths are below `tests`."""

# Files and folders whose tests start real servers and workers, and mostly wait for them.
SERVERS = (
    *("walks", "faults"),
    *(f"studies/management/test_{name}.py" for name in ("command", "jobs", "runner_beside", "server_lock", "start")),
    *(f"studies/bots/test_{name}.py" for name in ("walk", "pairs", "line")),
)
# Files whose tests take seconds of a processor each.
SLOW = (
    *("test_hostile_input.py", "test_discreet_log.py", "test_settings.py", "coverage", "fuzz", "dialogue/jobs"),
    *("dialogue/demonstration/test_judges.py", "dialogue/chat/test_second_line.py", "extensions/test_small_study.py"),
    *("studies/api/test_schema_fuzz.py", "studies/api/test_recipes.py", "studies/bots/test_answers.py"),
    *(
        f"studies/analysis/{name}"
        for name in ("test_run.py", "test_roles.py", "test_kumar.py", "test_seed_tables.py", "planning", "tables")
    ),
    *(f"studies/analysis/measures/test_{name}.py" for name in ("mixed", "multiple")),
    *(f"studies/analysis/reporting/test_{name}.py" for name in ("figures", "primary_section")),
    *(f"studies/management/test_{name}.py" for name in ("analyse", "benchmark", "test_data", "walk_paper")),
    *("studies/data/imports", "studies/participation/test_instructed.py", "studies/simulation/test_simulate.py"),
    *("studies/person/test_person.py", "studies/seeker_profiles/test_expand.py", "dialogue/providers/test_limits.py"),
    "studies/judging",
)
# Files that `make test` runs on SQLite alone, and `make test-all` on PostgreSQL too: their time goes into prompts,
# statistics or pages, and other tests store and read the same rows. Of the others it runs on PostgreSQL what commits,
# and of what is rolled back every eighth test.
ONE_DATABASE = (
    *(f"studies/judging/test_{name}.py" for name in ("fields", "variants")),
    *(f"studies/management/test_{name}.py" for name in ("analyse", "benchmark", "test_data", "walk_paper")),
    *(f"studies/participation/test_{name}.py" for name in ("blinding", "instructed")),
    *("studies/analysis", "studies/data/imports", "studies/builder/test_pages.py", "studies/replication"),
    *("fuzz", "studies/api/test_schema_fuzz.py", "studies/access/test_cells.py"),
)
