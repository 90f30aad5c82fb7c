"""Files and models of other people: parameters behind an address, and repositories with a `hubconf.py`.

What is downloaded is kept under `get_dir()`. Parameters are read by `pullback.load`, which by default runs no code of
the file; `load` of a repository runs the code that is in it, as importing it would.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from urllib.parse import urlparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType
    from typing import Any, BinaryIO

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK = 128 * 1024
MODULE_HUBCONF = "hubconf.py"
VAR_DEPENDENCY = "dependencies"
ENV_TORCH_HOME = "TORCH_HOME"
ENV_XDG_CACHE_HOME = "XDG_CACHE_HOME"
DEFAULT_CACHE_DIR = "~/.cache"
_chosen: str | None = None


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        with suppress(ImportError):
            return import_module("tqdm").tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _get_torch_home() -> str:
    cache = os.getenv(ENV_XDG_CACHE_HOME, DEFAULT_CACHE_DIR)
    return os.path.expanduser(os.getenv(ENV_TORCH_HOME, os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder in which downloads are kept: `hub` in `$TORCH_HOME`, or in `torch` in the user's cache.

    >>> import pullback
    >>> pullback.hub.set_dir("models")
    >>> pullback.hub.get_dir()
    'models'
    >>> pullback.hub.set_dir(None)
    """
    return os.path.join(_get_torch_home(), "hub") if _chosen is None else _chosen


def set_dir(d: str | os.PathLike[str] | None) -> None:
    """Sets that folder for this process; None is for the one that the environment says."""
    global _chosen
    _chosen = None if d is None else os.path.expanduser(os.fspath(d))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Writes what is behind an address (`http:`, `https:`, `file:`, `ftp:`) into a file.

    The file appears under its name when it is complete, and has the hash that was asked for. `progress` shows on the
    terminal how much there is.

    Raises:
        RuntimeError: if the SHA-256 of the content does not begin with `hash_prefix`.
        urllib.error.URLError: if there is nothing to read.
    """
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(dst)
    digest = hashlib.sha256()
    with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
        handle, partial = tempfile.mkstemp(dir=os.path.dirname(dst) or ".", suffix=".partial")
        try:
            with os.fdopen(handle, "wb") as file:
                for chunk in _chunks(source, url, progress):
                    digest.update(chunk)
                    file.write(chunk)
            if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
                raise RuntimeError(
                    f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}"): what {url} gives is '
                    "not what its name says; try again, or ask where it comes from"
                )
            os.chmod(partial, 0o666 & ~_umask())
            os.replace(partial, dst)
        finally:
            with suppress(FileNotFoundError):
                os.remove(partial)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _chunks(source: BinaryIO, url: str, progress: bool) -> Iterator[bytes]:
    """The content in parts, and on the terminal how far it is."""
    length = getattr(source, "length", None)
    of = f" of {length / 2**20:.1f} MB" if length else ""
    show = progress and sys.stderr.isatty()
    done = 0
    while chunk := source.read(READ_DATA_CHUNK):
        done += len(chunk)
        if show:
            print(f"\r{url}: {done / 2**20:.1f} MB{of}", end="", file=sys.stderr, flush=True)
        yield chunk
    if show:
        print(file=sys.stderr)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> dict[str, Any]:
    """The object in a file behind an address, which is downloaded once and kept in `model_dir`.

    Args:
        url: the address.
        model_dir: the folder to keep it in, `get_dir()/checkpoints` by default.
        map_location: as in `load`.
        progress: whether the terminal shows how far the download is.
        check_hash: whether the name has the beginning of the content's SHA-256, as in `name-0123abcd.pth`, to check.
        file_name: the name to keep it under, that of the address by default.
        weights_only: as in `load`: True lets nothing but tensors and plain data be read.
    """

    from .serialization import load as load_file

    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else os.path.expanduser(model_dir)
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        print(f'Downloading: "{url}" to {path}', file=sys.stderr)
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    state: dict[str, Any] = load_file(path, map_location=map_location, weights_only=weights_only)
    return state


def load(
    repo_or_dir: str,
    model: str,
    *args: Any,
    source: str = "github",
    trust_repo: bool | str | None = "check",
    force_reload: bool = False,
    verbose: bool = True,
    skip_validation: bool = False,
    **kwargs: Any,
) -> Any:
    """Calls an entry of the `hubconf.py` of a folder: `load("folder", "resnet", source="local", pretrained=False)`.

    Repositories are not downloaded: with `source="github"` the folder under `get_dir()` is used that was put there.

    Raises:
        ValueError: if `source` is neither "github" nor "local".
        RuntimeError: if a repository is not there, or has no such entry, or lacks a package that it depends on.
    """
    return _entry(_folder(repo_or_dir, source), model)(*args, **kwargs)


def list(
    github: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    verbose: bool = True,
    source: str = "github",
) -> Any:
    """The names of the entries of a repository."""
    module = _conf(_folder(github, source))
    return [name for name, found in vars(module).items() if callable(found) and not name.startswith("_")]


def help(
    github: str,
    model: str,
    force_reload: bool = False,
    skip_validation: bool = False,
    trust_repo: bool | str | None = "check",
    source: str = "github",
) -> Any:
    """The documentation of an entry of a repository."""
    return _entry(_folder(github, source), model).__doc__


def _folder(repo: str, source: str) -> Path:
    """The folder of a repository, which must be there."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        name, _, branch = repo.partition(":")
        parts = name.split("/")
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"hub: a repository is 'owner/name' or 'owner/name:branch', got {repo!r}")
        kept = Path(get_dir())
        branches = (branch,) if branch else ("main", "master")
        for one in branches:
            folder = kept / "_".join((*parts, one.replace("/", "_")))
            if folder.is_dir():
                return folder
        raise RuntimeError(
            f"hub: repositories are not downloaded, and {repo} is not in {kept}. Clone "
            f"https://github.com/{name} and give its folder with source='local'"
        )
    path = Path(os.path.realpath(repo))
    if not (path / MODULE_HUBCONF).is_file():
        raise RuntimeError(f"hub: there is no {MODULE_HUBCONF} in {path}; give the folder of a repository that has one")
    return path


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(str(folder))


def _conf(folder: Path) -> ModuleType:
    with _importing_from(folder):
        spec = spec_from_file_location(MODULE_HUBCONF, folder / MODULE_HUBCONF)
        if spec is None or spec.loader is None:
            raise RuntimeError(f"hub: {folder / MODULE_HUBCONF} cannot be imported")
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def _entry(folder: Path, name: str) -> Any:
    """A callable that runs the entry with imports from its repository."""
    from importlib.util import find_spec

    if not isinstance(name, str):
        raise ValueError("Invalid input: model should be a string of function name")
    module = _conf(folder)
    missing = [package for package in getattr(module, VAR_DEPENDENCY, None) or () if find_spec(package) is None]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    function = getattr(module, name, None)
    if not callable(function):
        raise RuntimeError(f"Cannot find callable {name} in hubconf")

    def run(*args: Any, **kwargs: Any) -> Any:
        with _importing_from(folder):
            return function(*args, **kwargs)

    run.__doc__ = function.__doc__
    return run
