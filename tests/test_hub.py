"""`pullback.hub`: files behind addresses, and entries of repositories."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

import pullback as pb
from pullback import hub
from pullback.utils import model_zoo


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    folder = tmp_path / "served"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    hub.set_dir(tmp_path / "kept")
    yield tmp_path / "kept"
    hub.set_dir(None)


def test_state_dicts_of_addresses(served: tuple[Path, str], home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, address = served
    model = pb.nn.Linear(2, 3)
    pb.save(model.state_dict(), folder / "plain.pth")
    digest = hashlib.sha256((folder / "plain.pth").read_bytes()).hexdigest()
    named = f"net-{digest[:8]}.pth"
    (folder / named).write_bytes((folder / "plain.pth").read_bytes())
    for url in (f"{address}/plain.pth?x=1", (folder / "plain.pth").as_uri()):
        state = hub.load_state_dict_from_url(url, progress=False, map_location="cpu")
        assert state["weight"].equal(model.weight) and (home / "checkpoints" / "plain.pth").exists()
        (home / "checkpoints" / "plain.pth").unlink()
    assert "Downloading" in capsys.readouterr().err
    kept = folder.parent / "elsewhere"
    assert model_zoo.load_url(f"{address}/{named}", str(kept), check_hash=True)["bias"].equal(model.bias)
    (folder / named).unlink()
    again = hub.load_state_dict_from_url(f"{address}/{named}", str(kept), check_hash=True)
    assert again["bias"].equal(model.bias), "what is there is not downloaded again"


def test_what_is_damaged_is_not_kept(served: tuple[Path, str], home: Path) -> None:
    folder, address = served
    (folder / "net-01234567.pth").write_bytes(b"something else")
    with pytest.raises(RuntimeError, match=r'invalid hash value \(expected "01234567", got "'):
        hub.load_state_dict_from_url(f"{address}/net-01234567.pth", check_hash=True)
    with pytest.raises(URLError):
        hub.download_url_to_file(f"{address}/no-such-file", str(home / "checkpoints" / "x"))
    assert list((home / "checkpoints").iterdir()) == []


def test_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", "/somewhere")
    assert hub.get_dir() == "/somewhere/hub"
    monkeypatch.delenv("TORCH_HOME")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert hub.get_dir() == "/cache/torch/hub"


CONF = '''
dependencies = ["json"]
from parts_of_it import width

def net(scale, bias=True):
    """A layer."""
    import parts_of_it
    return width * scale * parts_of_it.width, bias

def _hidden(): ...
'''


def test_entries_of_repositories(tmp_path: Path, home: Path) -> None:
    (tmp_path / "hubconf.py").write_text(CONF)
    (tmp_path / "parts_of_it.py").write_text("width = 3\n")
    there = str(tmp_path)
    assert hub.load(there, "net", 2, source="local", bias=False) == (18, False)
    assert hub.list(there, source="local") == ["net"] and hub.help(there, "net", source="local") == "A layer."
    (home / "owner_name_main").mkdir(parents=True)
    for part in ("hubconf.py", "parts_of_it.py"):
        (home / "owner_name_main" / part).write_text((tmp_path / part).read_text())
    assert hub.load("owner/name", "net", 1) == hub.load("owner/name:main", "net", 1) == (9, True)


def test_refusals(tmp_path: Path, home: Path) -> None:
    there = str(tmp_path)
    with pytest.raises(RuntimeError, match=r"no hubconf\.py in"):
        hub.load(there, "net", source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package_at_all']\ndef net(): ...\n")
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_package_at_all"):
        hub.load(there, "net", source="local")
    (tmp_path / "hubconf.py").write_text("net = 3\n")
    with pytest.raises(RuntimeError, match="Cannot find callable net in hubconf"):
        hub.load(there, "net", source="local")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        hub.load(there, "net", source="web")
    with pytest.raises(RuntimeError, match=r"repositories are not downloaded.*source='local'"):
        hub.load("owner/name", "net")
    with pytest.raises(ValueError, match="'owner/name' or 'owner/name:branch', got 'name'"):
        hub.load("name", "net")


def test_names_that_libraries_take_from_here() -> None:
    assert hub.urlparse("https://example.org/model-0a1b.pth").path == "/model-0a1b.pth"
    assert hub.HASH_REGEX.search("model-0a1b.pth").group(1) == "0a1b"
