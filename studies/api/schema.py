"""Additions to the OpenAPI schema of every operation: how one signs in, and how it refuses."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator

METHODS = ("get", "post", "put", "patch", "delete")
REFUSAL = "Refusal"
FAULTS = "Faults"
SCHEMAS = {
    REFUSAL: {
        "type": "object",
        "required": ["detail"],
        "properties": {"detail": {"type": "string", "description": "What is wrong, in one sentence."}},
    },
    FAULTS: {
        "type": "object",
        "description": "What is wrong, by field; `detail` where the request as a whole is.",
        "additionalProperties": True,
    },
}
ALWAYS = {
    "401": "No token or session, or a token that is unknown, expired or revoked.",
    "403": "The account or the token may not do this.",
    "429": "Too many requests. `Retry-After` says in how many seconds to try again.",
}


class TokenScheme(OpenApiAuthenticationExtension):
    target_class = "studies.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from /research/tokens/."}


def add_refusals(result: dict[str, Any], generator: SchemaGenerator, request: Any, public: bool) -> dict[str, Any]:
    """Add to each operation the answers that any of its kind can give."""
    result["components"]["schemas"].update(SCHEMAS)
    for path, operations in result["paths"].items():
        for method, operation in operations.items():
            if method in METHODS:
                for code, (meaning, schema) in refusals_of(path, operation).items():
                    operation["responses"].setdefault(code, refusal(meaning, schema))
    return result


def refusals_of(path: str, operation: dict[str, Any]) -> dict[str, tuple[str, str]]:
    refusals = {code: (meaning, REFUSAL) for code, meaning in ALWAYS.items()}
    if "requestBody" in operation:
        refusals["415"] = "The body must be JSON.", REFUSAL
    if "requestBody" in operation or any(one["in"] == "query" for one in operation.get("parameters", ())):
        refusals["400"] = "Something in the request is wrong.", FAULTS
    if "{" in path:
        refusals["404"] = "There is no such thing.", REFUSAL
    return refusals


def refusal(meaning: str, schema: str) -> dict[str, Any]:
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"description": meaning, "content": content}
