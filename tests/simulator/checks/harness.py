"""Runs every function ``check_*`` of a module beside this file and writes what came of each as JSON.

    ascend-migrate run --sim harness.py MODULE OUTPUT

One process for many checks, because importing torch takes seconds. With several ranks each writes OUTPUT.RANK.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
import warnings
from pathlib import Path


def main(module_name: str, output: str) -> None:
    module = importlib.import_module(module_name)
    results = {}
    for name, check in list(vars(module).items()):
        if not name.startswith("check_"):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                # torch 2.13 deprecates names that older ones have under no other name.
                warnings.filterwarnings("ignore", message=".*is deprecated.*", category=FutureWarning)
                check()
            results[name] = ""
        except BaseException:
            results[name] = traceback.format_exc()
    getattr(module, "finish", lambda: None)()
    Path(f"{output}.{os.environ.get('RANK', '0')}").write_text(json.dumps(results), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
