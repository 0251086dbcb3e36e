"""A compile as the command line asks for it: plan, stages, findings, files, depfiles, dumps and timings."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from pptc import driver
from pptc.cli import depfile, dumps
from pptc.cli.console import Console
from pptc.cli.flags import Parsed
from pptc.cli.plan import SUFFIXES, Plan, Task, make_plan
from pptc.diag import CompileError, Diagnostic, Sink, fail


def compile_line(parsed: Parsed, console: Console) -> int:
    """Run the plan of a command line; returns the exit status."""
    plan = make_plan(parsed)
    if parsed.on("deps") or parsed.on("deps_user"):
        return _print_dependencies(plan, parsed, console)
    if parsed.on("print_pipeline"):
        return _print_pipelines(plan, console)
    if parsed.on("dry_run"):
        return _print_steps(plan, console)
    journal = driver.Journal(announce=_announcer(parsed, console), observers=_observers(parsed, console))
    raise NotImplementedError(journal)
