"""Every Ray worker of ours imports this first: Ray Serve is told that there is no pandas, which it would not use here.

Ray does so itself, by RAY_preload_python_modules. Serve imports pandas to send data frames, which nobody here sends:
35 MB and 0.6 s of CPU in the controller, both proxies and each replica. Whoever else imports pandas gets it.

Python looks for garbage whenever 700 objects more are there than before; while modules are loaded there is none, and a
replica's start spends a sixth of its CPU on that. From here on it looks whenever there are 20,000.
"""

import gc
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

SPARED = "pandas"
SPARING = "ray.serve._private.utils"  # goes on without it where it is not installed


class PandasRefusal(MetaPathFinder):
    """Says to one module that another is not installed; finds nothing itself."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """See `MetaPathFinder`; raises ModuleNotFoundError to the module that is spared."""
        if fullname == SPARED and _importer() == SPARING:
            raise ModuleNotFoundError(f"{SPARING} is spared {SPARED}", name=SPARED)


def _importer() -> str:
    """The module whose import statement is being carried out; what carries it out lies between, frozen into Python."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))


sys.meta_path.insert(0, PandasRefusal())
gc.set_threshold(20_000, 20, 20)
