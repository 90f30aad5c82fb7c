"""What results with named fields have in common, such as `pullback.return_types.max`."""

from . import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_own: "Any" = _core


def finish(kind: "Any") -> None:
    """Lets a class made by `namedtuple` take its fields in one sequence, and be pickled and shown as PyTorch's are."""
    by_field, in_one_line = kind.__new__, kind.__repr__

    def __new__(cls: "Any", *args: "Any", **kwargs: "Any") -> "Any":
        # In pickles a dict of fields beyond those of the tuple follows, and there are none.
        if args and isinstance(args[0], (list, tuple)) and len(args[0]) == len(cls._fields) and args[1:] in ((), ({},)):
            return tuple.__new__(cls, args[0])
        return by_field(cls, *args, **kwargs)

    def __repr__(self: "Any") -> str:
        if _own._shown_prefix() != "torch.":
            return str(in_one_line(self))
        fields = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self))  # noqa: B905
        return f"torch.return_types.{kind.__name__}(\n{fields})"

    def __reduce__(self: "Any") -> "Any":
        return type(self), (tuple(self), {})

    for method in (__new__, __repr__, __reduce__):
        method.__qualname__ = f"{kind.__qualname__}.{method.__name__}"
        setattr(kind, method.__name__, method)
