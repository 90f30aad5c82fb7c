"""Which classes and functions lie in which file, so that a name loads its file alone."""

_FILES = {
    "parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "modules.module": "Module",
    "modules.container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "modules.linear": "Bilinear Identity LazyLinear Linear",
}
CONTENTS = {name: file for file, names in _FILES.items() for name in names.split()}
