from typing import Any

from studies.management.command import Command as Base
from studies.payments.payees import reseal_payees
from studies.payments.sealing import ContactKeyError


class Command(Base):
    help = (
        "Encrypts all contact data (Prolific IDs) anew by the first key of CONTACT_KEY. Put a new key in front of the "
        "old one, run this, and then remove the old one."
    )

    def work(self, **_options: Any) -> dict[str, Any]:
        try:
            number = reseal_payees()
        except ContactKeyError as error:
            self.refuse(str(error))
        self.say(f"{number} encrypted by the first key of CONTACT_KEY.")
        return {"resealed": number}
