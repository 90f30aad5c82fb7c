"""A pickle machine that makes nothing but what an allow-list names.

It knows the opcodes that data needs, builds containers of plain types itself, and calls only functions of the
list, each behind a check of its arguments. Nothing in a file makes it allocate more than the file's length suggests,
recurse, or change an object that outlives the load.
"""

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

# A key is hashed and compared by recursion: tuples of more members than this, or deeper, are refused.
_KEY_MEMBERS, _KEY_DEPTH = 1000, 50

Globals = Callable[[str, str], Any]
Handler = Callable[[Any, tuple[Any, ...]], Any]


class Machine:
    """Runs one pickle that begins at `start` of `data`; `end` is behind it afterwards.

    `find` gives the object that a module and a name stand for, `call` applies one of these to arguments, `build` gives
    an object its state, and `persistent` makes of an id what it stands for. They raise for what is not allowed.
    """

    def __init__(
        self,
        data: bytes,
        start: int,
        find: Globals,
        call: Handler,
        build: Callable[[Any, Any], Any],
        persistent: Callable[[Any], Any],
        new: Handler,
    ) -> None:
        self.data, self.at = data, start
        self.find, self.call, self.build, self.persistent, self.new = find, call, build, persistent, new
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        data, steps = self.data, _STEPS
        try:
            while True:
                code = data[self.at]
                self.at += 1
                if code == _STOP:
                    if len(self.stack) != 1 or self.marks:
                        raise UnpicklingError("the pickle ends with something else than one object")
                    return self.stack.pop()
                step = steps.get(code)
                if step is None:
                    raise UnpicklingError(f"Unsupported operand {code} at byte {self.at - 1}")
                step(self)
        except IndexError:
            raise UnpicklingError("the pickle ends too early, or takes what is not there") from None
        except (struct.error, KeyError, TypeError, AttributeError, ValueError, OverflowError) as e:
            raise UnpicklingError(f"the pickle is damaged ({type(e).__name__}: {e})") from e

    # ------------------------------------------------------------ reading
    def take(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.data):
            raise UnpicklingError("the pickle ends too early")
        found = self.data[self.at : end]
        self.at = end
        return found

    def number(self, format: str) -> Any:
        (value,) = struct.unpack_from(format, self.data, self.at)
        self.at += struct.calcsize(format)
        return value

    def line(self) -> bytes:
        end = self.data.index(b"\n", self.at)
        found = self.data[self.at : end]
        self.at = end + 1
        return found

    def marked(self) -> list[Any]:
        """What was pushed since the last mark."""
        found = self.stack
        self.stack = self.marks.pop()
        return found


def check_key(key: Any) -> Any:
    """A key of a dict or a member of a set that is hashed by few steps."""
    if type(key) is not tuple:
        if type(key).__hash__ is None:
            raise UnpicklingError(f"a {type(key).__name__} cannot be a key")
        return key
    waiting, seen = [(key, 0)], 0
    while waiting:
        item, depth = waiting.pop()
        seen += 1
        if seen > _KEY_MEMBERS or depth > _KEY_DEPTH:
            raise UnpicklingError("a tuple that is a key has too many members")
        if type(item) is tuple:
            waiting += [(x, depth + 1) for x in item]
        else:
            check_key(item)
    return key


def check_keys(keys: Any) -> Any:
    for key in keys:
        check_key(key)
    return keys


# ---------------------------------------------------------------- what the opcodes do
def _global(m: Machine) -> None:
    module, name = m.line().decode(), m.line().decode()
    m.stack.append(m.find(module, name))


def _stack_global(m: Machine) -> None:
    name, module = m.stack.pop(), m.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise UnpicklingError("the name of a global is no string")
    m.stack.append(m.find(module, name))


def _arguments(m: Machine) -> tuple[Any, ...]:
    args = m.stack.pop()
    if type(args) is not tuple:
        raise UnpicklingError(f"arguments are a {type(args).__name__} instead of a tuple")
    return args


def _reduce(m: Machine) -> None:
    args = _arguments(m)
    m.stack.append(m.call(m.stack.pop(), args))


def _newobj(m: Machine) -> None:
    args = _arguments(m)
    m.stack.append(m.new(m.stack.pop(), args))


def _build(m: Machine) -> None:
    state = m.stack.pop()
    m.stack.append(m.build(m.stack.pop(), state))


def _list(m: Machine) -> list[Any]:
    target: list[Any] = m.stack[-1]
    if type(target) is not list:
        raise UnpicklingError(f"Can only append to lists, but got {type(target)}")
    return target


def _append(m: Machine) -> None:
    item = m.stack.pop()
    _list(m).append(item)


def _appends(m: Machine) -> None:
    items = m.marked()
    _list(m).extend(items)


def _set_items(m: Machine, items: list[Any]) -> None:
    target = m.stack[-1]
    if type(target) not in (dict, OrderedDict, Counter):
        raise UnpicklingError(f"Can only set items of dicts, but got {type(target)}")
    if len(items) % 2:
        raise UnpicklingError("a dict gets a key without a value")
    for k in range(0, len(items), 2):
        key = items[k]
        target[key if type(key) is str else check_key(key)] = items[k + 1]


def _setitem(m: Machine) -> None:
    value, key = m.stack.pop(), m.stack.pop()
    _set_items(m, [key, value])


def _additems(m: Machine) -> None:
    items, target = m.marked(), m.stack[-1]
    if type(target) is not set:
        raise UnpicklingError(f"Can only add items to sets, but got {type(target)}")
    target.update(check_keys(items))


def _mark(m: Machine) -> None:
    m.marks.append(m.stack)
    m.stack = []


def _tuple(count: int) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        if len(m.stack) < count:
            raise IndexError
        m.stack[-count:] = [tuple(m.stack[-count:])]

    return step


def _tuple_marked(m: Machine) -> None:
    items = tuple(m.marked())
    m.stack.append(items)


def _collection(make: Callable[[list[Any]], Any]) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        items = m.marked()
        m.stack.append(make(items))

    return step


def _dict_marked(m: Machine) -> None:
    items = m.marked()
    m.stack.append({})
    _set_items(m, items)


def _constant(make: Callable[[], Any]) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(make())


def _value(format: str) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(m.number(format))


def _text(format: str, errors: str = "surrogatepass") -> Callable[[Machine], None]:
    return lambda m: m.stack.append(str(m.take(m.number(format)), "utf-8", errors))


def _raw(format: str, make: Callable[[bytes], Any] = bytes) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(make(m.take(m.number(format))))


def _integer(format: str) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(int.from_bytes(m.take(m.number(format)), "little", signed=True))


def _get(format: str) -> Callable[[Machine], None]:
    return lambda m: m.stack.append(m.memo[m.number(format)])


def _put(format: str) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.memo[m.number(format)] = m.stack[-1]

    return step


def _memoize(m: Machine) -> None:
    m.memo[len(m.memo)] = m.stack[-1]


def _persistent(m: Machine) -> None:
    m.stack.append(m.persistent(m.stack.pop()))


def _skip(format: str) -> Callable[[Machine], None]:
    return lambda m: (m.number(format), None)[1]


_STOP = ord(".")
_STEPS: dict[int, Callable[[Machine], None]] = {
    ord(code): step
    for code, step in {
        **{b"\x80": _skip("<B"), b"\x95": _skip("<Q"), b"c": _global, b"\x93": _stack_global},
        **{b"R": _reduce, b"\x81": _newobj, b"b": _build, b"Q": _persistent},
        **{
            b"a": _append,
            b"e": _appends,
            b"s": _setitem,
            b"u": lambda m: _set_items(m, m.marked()),
            b"\x90": _additems,
        },
        **{b"(": _mark, b"t": _tuple_marked, b"\x85": _tuple(1), b"\x86": _tuple(2), b"\x87": _tuple(3)},
        **{b"l": _collection(list), b"d": _dict_marked, b"\x91": _collection(lambda x: frozenset(check_keys(x)))},
        **{b"N": _constant(lambda: None), b"\x88": _constant(lambda: True), b"\x89": _constant(lambda: False)},
        **{b")": _constant(tuple), b"]": _constant(list), b"}": _constant(dict), b"\x8f": _constant(set)},
        **{b"J": _value("<i"), b"K": _value("<B"), b"M": _value("<H"), b"G": _value(">d")},
        **{b"\x8a": _integer("<B"), b"\x8b": _integer("<I")},
        **{b"X": _text("<I"), b"\x8c": _text("<B"), b"\x8d": _text("<Q"), b"U": _text("<B", "strict")},
        **{b"T": _text("<I", "strict"), b"B": _raw("<I"), b"C": _raw("<B"), b"\x8e": _raw("<Q")},
        **{b"\x96": _raw("<Q", bytearray)},
        **{b"h": _get("<B"), b"j": _get("<I"), b"q": _put("<B"), b"r": _put("<I"), b"\x94": _memoize},
        **{b"0": lambda m: (m.stack.pop(), None)[1]},
    }.items()
}
