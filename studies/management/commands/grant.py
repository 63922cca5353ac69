from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandParser
from django.db import transaction

from studies.access.granting import RolesError, roles_of, set_roles
from studies.access.table import ROLES
from studies.management.command import Command as Base
from studies.models.membership import Role


class Command(Base):
    help = "Gives an account a role in a study, or takes it away. docs/roles.md says what each role may do."

    def add(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY")
        parser.add_argument("user", metavar="USER", help="the user name of an account")
        parser.add_argument("role", metavar="ROLE", choices=Role.values, help=", ".join(Role.values))
        parser.add_argument("--remove", action="store_true", help="take the role away")

    @transaction.atomic
    def work(self, study: str, user: str, role: str, remove: bool, **_options: Any) -> dict[str, Any]:
        study_row, account = self.study(study), get_user_model().objects.filter(username=user).first()
        if account is None:
            self.refuse(f"There is no account {user}. Make one under /admin/, or invite them on the page Access.")
        held = roles_of(study_row, account)
        roles = held - {Role(role)} if remove else held | {Role(role)}
        try:
            set_roles(study_row, account, roles, by=None)
        except RolesError as error:
            self.refuse(str(error))
        if roles and not account.is_staff:
            account.is_staff = True  # else they could not sign in to the researchers' pages
            account.save(update_fields=["is_staff"])
        names = [one.value for one in Role if one in roles]
        self.say(f"{user} in {study}: {', '.join(names) or 'no role'}")
        if not remove:
            self.say(f"{Role(role).label}: {ROLES[Role(role)]}.")
        return {"study": study, "user": user, "roles": names}
