"""What is installed: one runtime dependency, typing marker, stubs, licences."""

from __future__ import annotations

from importlib import metadata, resources

import pytest

import pullback as pb

try:
    DISTRIBUTION = metadata.distribution("pullback")
except metadata.PackageNotFoundError:
    pytest.skip("runs from a source tree", allow_module_level=True)


def test_numpy_is_the_only_dependency() -> None:
    required = [r for r in DISTRIBUTION.requires or [] if "extra ==" not in r]
    assert [r.partition(">")[0].strip() for r in required] == ["numpy"]


def test_version() -> None:
    assert pb.__version__ == DISTRIBUTION.version


def test_types_come_along() -> None:
    files = resources.files("pullback")
    assert files.joinpath("py.typed").is_file()
    assert "def sin" in files.joinpath("_core.pyi").read_text()


def test_licences_come_along() -> None:
    names = {path.name for path in DISTRIBUTION.files or []}
    assert {"LICENSE-MIT", "LICENSE-APACHE"} <= names
