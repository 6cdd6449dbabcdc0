"""What an error code means, and what went wrong in a log.

:func:`find_code`, :func:`near_codes` and :func:`code_page` answer for one code; :func:`explain_log` and
:func:`explain_files` read logs of any size and any number of ranks.
"""

from __future__ import annotations

from ascend_migrate.launch.diagnosis.codes import code_page, find_code, near_codes
from ascend_migrate.launch.diagnosis.report import Incident, LogReport
from ascend_migrate.launch.diagnosis.scan import explain_files, explain_log

__all__ = [
    "Incident",
    "LogReport",
    "code_page",
    "explain_files",
    "explain_log",
    "find_code",
    "near_codes",
]
