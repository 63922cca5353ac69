from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser

from studies.connections.tokens import create_token
from studies.management.command import Command as Base
from studies.models import ApiToken


class Command(Base):
    help = "Makes a token of the API and shows it once: only a hash of it is stored."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="which program will use it")
        parser.add_argument("--user", required=True, metavar="USER", help="the account for which it acts")
        parser.add_argument("--scopes", nargs="+", choices=ApiToken.Scope.values, default=[ApiToken.Scope.READ.value])
        parser.add_argument("--study", metavar="STUDY", help="this study alone; without it, all studies")
        parser.add_argument("--days", type=int, metavar="N", help="until it expires; without it, never")

    def work(
        self, name: str, user: str, scopes: list[str], study: str | None, days: int | None, **_options: Any
    ) -> dict[str, Any]:
        account = get_user_model().objects.filter(username=user).first()
        if account is None:
            self.refuse(f"There is no account {user!r}.")
        if not (account.is_active and account.is_staff):
            self.refuse(f"The account {user} has no access to studies, so its token would open nothing.")
        if days is not None and days < 1:
            self.refuse("--days must be at least 1.")
        study_row = self.study(study) if study else None
        token, text = create_token(account, name=name, scopes=scopes, study=study_row, days=days)
        self.stdout.write(text)
        return {
            "name": name,
            "study": study,
            "scopes": token.scopes,
            "expires_at": token.expires_at and str(token.expires_at),
        }
