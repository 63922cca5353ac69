"""Every route of the API, sent what its OpenAPI schema allows and what it does not."""

from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.generation import GenerationMode

from tests.fuzz.amount import get_amount
from tests.fuzz.hostile import VALUES
from tests.fuzz.watch import watching
from tests.studies.api.test_schema_fuzz import api, token, wanted_paths

__all__ = ["token", "wanted_paths"]
MODES = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)


def test_no_request_breaks_the_api(token: str, wanted_paths: dict[str, Any]) -> None:
    operations = [result.ok() for result in api.get_all_operations()]
    assert len(operations) > 15
    examples = -(-get_amount("API") // (len(operations) * len(MODES)))
    headers = {"Authorization": f"Bearer {token}"}

    with watching("API") as watch:
        for operation in operations:
            for mode in MODES:

                @settings(
                    max_examples=examples,
                    phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck),
                    database=None,
                )
                @given(operation.as_strategy(generation_mode=mode), st.booleans(), VALUES)
                def send(case: schemathesis.Case, is_known: bool, value: str) -> None:
                    case.path_parameters.update(
                        {name: wanted_paths[name] if is_known else value[:200] for name in case.path_parameters}
                    )
                    if any("?" in str(value) for value in case.path_parameters.values()):
                        return  # the client would end the path there
                    told = f"{case.method} {case.formatted_path} {case.query!r:.200} {case.body!r:.200}"
                    watch.send(told, lambda: is_accepted(case, headers, told))

                send()


def is_accepted(case: schemathesis.Case, headers: dict[str, str], told: str) -> bool:
    response = case.call(headers=headers)
    assert response.status_code < 500, f"{told}: {response.status_code}"
    return response.status_code < 400
