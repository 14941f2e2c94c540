"""`python -m pipelines.documents.portable`: one move of a workspace; its steps on stderr, its end as JSON."""

import asyncio
import json
import sys

from cluster.basics.errors import AosError
from cluster.state.settings.settings_rows import load_where_possible
from pipelines.documents.portable.move_program import parse_request, run_move


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    request = parse_request(sys.argv[1:])
    try:
        told = asyncio.run(run_move(load_where_possible(), request, _tell))
    except AosError as error:
        told = {"error": {"code": error.code, "detail": str(error), "fix": error.hint}}
    sys.stdout.write(json.dumps(told))
