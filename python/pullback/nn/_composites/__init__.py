"""Functions of `pullback.nn.functional` that are written in operators of the table.

Where the table has an operator of the same name, `functional` shows that one.
"""
