"""The checks find what they must find, and the list of hot functions has those that run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).resolve().parent.parent / "tools"


def tool(name: str) -> ModuleType:
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOLS))
    return module


@pytest.fixture(scope="module")
def layers() -> ModuleType:
    return tool("layers")


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


def test_the_python_module_has_layers_of_its_own(layers: ModuleType, tmp_path: Path) -> None:
    module = tmp_path / "crates" / "python" / "src"
    texts = {
        "lib.rs": "pub mod types;\nuse crate::func::register;",
        "func/mod.rs": "use crate::tensor::wrap;\nuse crate::operators::run;",
        "tensor/mod.rs": "use crate::types::dtype;\n\nfn f() {\n    crate::func::admit();\n}",
        "data/lists.rs": "use super::super::autograd::leaf;",
    }
    for name, text in texts.items():
        path = module / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = faults(layers, tmp_path, {"lib.rs": ""})
    assert sorted(fault.rpartition("src/")[2].split(" ->")[0] for fault in found) == [
        "data/lists.rs:1: data",
        "tensor/mod.rs:4: tensor",
    ]


# ---------------------------------------------------------------- hot functions
HASHES = ["0123456789abcdef", "fedcba9876543210"]


def test_functions_are_counted_without_their_hashes() -> None:
    hot = tool("hot_functions")
    first, second = (f"_ZN8pullback3one17h{h}E" for h in HASHES)
    profile = [
        f"fn={first}\n",
        "10 5\n",
        "calls=2 30\n",
        "11 900\n",
        f"fn={second}'2\n",
        "+3 1\n",
        "12 7\n",
        "fn=main\n",
        "1 9\n",
    ]
    assert hot.instructions(profile) == {"_ZN8pullback3one17h*": 13, "main": 9}
    listed = [f"0000 0010 t {first}", f"0010 0020 t {second}.llvm.42", "0030 0001 D data", "0040 0008 T main", "U free"]
    assert hot.sizes(listed) == {"_ZN8pullback3one17h*": 0x30}


def test_the_densest_functions_are_chosen_until_they_run_most() -> None:
    from collections import Counter

    hot = tool("hot_functions")
    run = Counter(small=500, large=400, rare=100, unknown=1000)
    size = Counter(small=10, large=4000, rare=9000)
    assert hot.chosen(run, size) == ["small", "large"]
    assert hot.chosen(Counter(), size) == []
    assert hot.started(run, size) == ["rare", "large", "small"]
    assert hot.started(run, Counter(small=10, large=32_001)) == ["small"]
    text = hot.script(["a17h*", "b17h*"])
    assert text.index("*(.text.a17h*)") < text.index("*(.text.b17h*)") and text.endswith("INSERT BEFORE .text;\n")


def test_the_list_of_hot_functions_is_what_the_tool_writes() -> None:
    hot = tool("hot_functions")
    text = (TOOLS.parent / "crates" / "python" / "link" / "hot.ld").read_text()
    names = [line.strip()[len("*(.text.") : -1] for line in text.splitlines() if line.strip().startswith("*(")]
    assert len(names) == len(set(names)) > 100 and hot.script(names) == text
    assert all(name.endswith("17h*") for name in names)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no versions of symbols")
def test_needs_of_the_c_library_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import pullback._core

    needs = tool("glibc_needs")
    extension = Path(pullback._core.__file__).read_bytes()
    assert needs.too_new(extension, needs.system()) == []
    # All that has a version is too new for a library of no version.
    monkeypatch.setattr(needs, "LIMIT", (2, 0))
    assert any(fault.startswith("memcpy (GLIBC_") for fault in needs.too_new(extension, set()))
    assert needs.too_new(extension, {name for name, *_ in needs.Elf(extension).symbols()}) == []
