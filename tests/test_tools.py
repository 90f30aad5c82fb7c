"""The layer check finds what it must find."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


@pytest.fixture(scope="module")
def layers() -> ModuleType:
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location("layers", TOOLS / "layers.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOLS))
    return module


def faults(layers: ModuleType, root: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [fault.partition("(")[0].strip() for fault in layers.check(root)[0]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("use crate::ops::add;", 1),
        ("fn f() {\n    crate::skin::cell();\n}", 2),
        ("use crate::{\n    base::Error,\n    rules::{self, linear},\n};", 1),
        ("use super::super::ops::add;", 1),
        ("mod inner {\n    use super::super::super::ops::add;\n}", 2),
        ("fn f(x: pyo3::Python) {}", 1),
        ("fn f() { crate::Thing::new(); }", 1),
    ],
)
def test_upward_uses_are_found(layers: ModuleType, tmp_path: Path, text: str, line: int) -> None:
    files = {"lib.rs": "pub mod dense;\npub use skin::Thing;", "dense/deep.rs": text}
    found = faults(layers, tmp_path, files)
    assert found and all(fault.startswith(f"src/dense/deep.rs:{line}:") for fault in found)


@pytest.mark.parametrize(
    "text",
    [
        "use crate::base::Error;",
        "use super::array::Array;",
        "// use crate::ops::add;\n/* crate::ops */",
        'const S: &str = "crate::ops::add";',
        "#[cfg(test)]\nmod tests {\n    use crate::ops::add;\n}",
        "fn f<'a>(x: &'a str) { crate::bail!(Value, \"x\"); }",
    ],
)
def test_other_uses_pass(layers: ModuleType, tmp_path: Path, text: str) -> None:
    macro = "#[macro_export]\nmacro_rules! bail { () => {} }"
    assert faults(layers, tmp_path, {"lib.rs": "", "base/error.rs": macro, "dense/deep.rs": text}) == []
