"""Tools for parameters and modules."""
