"""Start Ray and the application `llm` alone, or stop them; runs in vLLM's environment, with the settings of its own."""

import sys

from cluster import connect, deploy
from cluster.basics.errors import AosError
from configs.settings import load_settings


def main() -> int:
    """`up` returns when the model is healthy; `down` ends every process of this state directory."""
    settings = load_settings()
    if sys.argv[1] == "down":
        connect.stop_ray(settings.state_dir)
        return 0
    wanted = deploy.deployment_plan(settings)
    wanted["applications"] = [app for app in wanted["applications"] if app["name"] == "llm"]
    try:
        connect.ensure_cluster(settings)
        deploy.roll_out(settings, wanted, lambda line: print(line, flush=True))
    except AosError as error:
        print(f"{error.code}: {error.detail}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
