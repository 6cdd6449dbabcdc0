"""Ordering of version numbers such as ``2.7.1.post2``, without a dependency."""

from __future__ import annotations

import re

_VERSION = re.compile(
    r"v?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[._-]?(?P<pre>a|b|rc|alpha|beta)[._-]?(?P<pre_number>\d+))?"
    r"(?:[._-]?post[._-]?(?P<post>\d+))?"
    r"(?:[._-]?dev[._-]?(?P<dev>\d+))?"
    r"(?:\+[a-z0-9._-]+)?",
    re.IGNORECASE,
)

VersionKey = tuple[tuple[int, ...], int, int, int]


def version_key(version: str) -> VersionKey:
    """A key that sorts versions as PEP 440 does, for the forms that torch and torch_npu use.

    The local part (``+cpu``) is ignored and ``2.7`` equals ``2.7.0``. Raises ValueError for anything else.
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise ValueError(f"not a version number: {version!r}")
    release = tuple(int(part) for part in match["release"].split("."))
    while len(release) > 1 and release[-1] == 0:
        release = release[:-1]
    post = int(match["post"]) if match["post"] is not None else -1
    if match["pre"] is not None:
        stage = {"a": -4, "alpha": -4, "b": -3, "beta": -3, "rc": -2}[match["pre"].lower()]
        return release, stage, int(match["pre_number"]), post
    if match["dev"] is not None and match["post"] is None:
        return release, -5, int(match["dev"]), -1
    return release, 0, post, 0


def base_version(version: str) -> str:
    """The release without what follows it: ``2.7.1.post2`` and ``2.7.1+cpu`` give ``2.7.1``.

    Raises ValueError for what is no version number.
    """
    match = _VERSION.fullmatch(version.strip())
    if match is None:
        raise ValueError(f"not a version number: {version!r}")
    return match["release"]
