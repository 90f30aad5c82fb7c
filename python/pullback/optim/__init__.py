"""Optimisers under PyTorch's names, learning-rate schedules, and the same rules as pure functions (`functional`).

A step of all parameters of a group is one call that reads and writes each element once.

>>> import pullback
>>> w = pullback.tensor([3.0, -2.0], requires_grad=True)
>>> optimizer = pullback.optim.Adam([w], lr=0.5)
>>> for _ in range(60):
...     optimizer.zero_grad()
...     ((w - pullback.tensor([1.0, 2.0])) ** 2).sum().backward()
...     optimizer.step()
>>> bool((w - pullback.tensor([1.0, 2.0])).abs().max() < 0.2)
True
"""

from .._members import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import functional as functional
    from . import lr_scheduler as lr_scheduler
    from . import swa_utils as swa_utils
    from .adadelta import Adadelta as Adadelta
    from .adafactor import Adafactor as Adafactor
    from .adagrad import Adagrad as Adagrad
    from .adam import Adam as Adam
    from .adamax import Adamax as Adamax
    from .adamw import AdamW as AdamW
    from .asgd import ASGD as ASGD
    from .lbfgs import LBFGS as LBFGS
    from .muon import Muon as Muon
    from .nadam import NAdam as NAdam
    from .optimizer import Optimizer as Optimizer
    from .radam import RAdam as RAdam
    from .rmsprop import RMSprop as RMSprop
    from .rprop import Rprop as Rprop
    from .sgd import SGD as SGD

_CLASSES = (
    *("ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS"),
    *("Muon", "NAdam", "RAdam", "RMSprop", "Rprop", "SGD"),
)
_CONTENTS = {name: name.lower() for name in (*_CLASSES, "Optimizer")}
_MODULES = ("functional", "lr_scheduler", "swa_utils")

if not TYPE_CHECKING:
    __getattr__ = lazily(__name__, (*_MODULES, *_CONTENTS.values()), _CONTENTS)
__all__ = [*_CONTENTS, *_MODULES]


def __dir__() -> "list[str]":
    return __all__
