"""Look up known faults of all packages of constraints.txt: `make audit`. Exits with 1 if there is one.

The list of faults is PyPI's. Where it cannot be reached, nothing is known of a package, and that is said in capitals.
"""

import json
import subprocess
import sys
from typing import Any

AUDIT = ("tool", "run", "--quiet", "--from", "pip-audit==2.10.1", "pip-audit")
OPTIONS = ("--requirement", "constraints.txt", "--disable-pip", "--no-deps", "--progress-spinner", "off", "-f", "json")


def main() -> int:
    uv = [sys.executable, "-m", "uv"]
    done = subprocess.run([*uv, *AUDIT, *OPTIONS], capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        print(done.stderr.strip()[-2000:])
        print("*** SKIPPED: pip-audit could not be had or could not look anything up, so no package was checked. ***")
        return 0
    return report(packages)


def report(packages: list[dict[str, Any]]) -> int:
    """Print what is known; return the exit code."""
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    faults = [(one, fault) for one in packages for fault in one.get("vulns", [])]
    for one, fault in faults:
        mended = ", ".join(fault["fix_versions"]) or "no version yet"
        print(f"{one['name']} {one['version']}: {fault['id']}, mended in {mended}")
    print(f"{len(packages) - len(skipped)} of {len(packages)} packages checked, {len(faults)} known faults.")
    if skipped:
        print(f"*** SKIPPED: nothing could be looked up about {len(skipped)} packages: {', '.join(skipped[:5])} … ***")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
