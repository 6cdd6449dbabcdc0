"""Facts about torch_npu and the Ascend chips: data with its provenance, and one loader.

Everything here is loaded when it is first asked for; importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ascend_migrate.knowledge.mappings import (
        ApiMapping,
        DataError,
        EnvironmentVariable,
        api_mappings,
        environment_variables,
        find_api_mapping,
        find_environment_variable,
        find_npu_name,
        npu_names,
    )
    from ascend_migrate.knowledge.operators import (
        Fallback,
        documentation_release,
        documented_dtypes,
        dtype_coverage,
        fallback,
        fallback_apis,
        unconfirmed_apis,
    )
    from ascend_migrate.knowledge.surfaces import (
        Surface,
        UnknownVersion,
        nearest_version,
        surface,
        torch_of,
        versions,
        versions_with,
    )
    from ascend_migrate.knowledge.targets import (
        Soc,
        UnknownTarget,
        VersionRow,
        find_soc,
        resolve_target,
        socs,
        version_table,
    )
    from ascend_migrate.knowledge.third_party import (
        Library,
        libraries,
        library_of_distribution,
        library_of_import,
    )

__all__ = [
    "ApiMapping",
    "DataError",
    "EnvironmentVariable",
    "Fallback",
    "Library",
    "Soc",
    "Surface",
    "UnknownTarget",
    "UnknownVersion",
    "VersionRow",
    "api_mappings",
    "documentation_release",
    "documented_dtypes",
    "dtype_coverage",
    "environment_variables",
    "fallback",
    "fallback_apis",
    "find_api_mapping",
    "find_environment_variable",
    "find_npu_name",
    "find_soc",
    "libraries",
    "library_of_distribution",
    "library_of_import",
    "nearest_version",
    "npu_names",
    "resolve_target",
    "socs",
    "surface",
    "torch_of",
    "unconfirmed_apis",
    "version_table",
    "versions",
    "versions_with",
]

_HOME = {
    "ApiMapping": "mappings",
    "DataError": "mappings",
    "EnvironmentVariable": "mappings",
    "Fallback": "operators",
    "Library": "third_party",
    "Soc": "targets",
    "Surface": "surfaces",
    "UnknownTarget": "targets",
    "UnknownVersion": "surfaces",
    "VersionRow": "targets",
    "api_mappings": "mappings",
    "documentation_release": "operators",
    "documented_dtypes": "operators",
    "dtype_coverage": "operators",
    "environment_variables": "mappings",
    "fallback": "operators",
    "fallback_apis": "operators",
    "find_api_mapping": "mappings",
    "find_environment_variable": "mappings",
    "find_npu_name": "mappings",
    "npu_names": "mappings",
    "find_soc": "targets",
    "libraries": "third_party",
    "library_of_distribution": "third_party",
    "library_of_import": "third_party",
    "nearest_version": "surfaces",
    "resolve_target": "targets",
    "socs": "targets",
    "surface": "surfaces",
    "torch_of": "surfaces",
    "unconfirmed_apis": "operators",
    "version_table": "targets",
    "versions": "surfaces",
    "versions_with": "surfaces",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
