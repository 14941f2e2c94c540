"""`python -m skills.sandbox`: which layers hold on this machine, as JSON."""

import json

from configs.settings import load_settings
from skills.sandbox.fence import report_layers
from skills.sandbox.sandbox_errors import SandboxMissing

if __name__ == "__main__":
    settings = load_settings().sandbox
    found = report_layers(settings)
    missing = [layer for layer in found.missing if layer not in settings.untrusted_without]
    told = {"held": sorted(found.held), "missing": missing, "reason": found.reason, "fix": SandboxMissing.fix}
    print(json.dumps(told))
