"""Our widgets live in Textual's classes: no attribute of ours may be one of its own."""

import ast
import functools
import importlib
import inspect
import pkgutil
import textwrap
from collections.abc import Iterator

from textual.message_pump import MessagePump

from nodwyn_tui import ui


def classes() -> Iterator[type]:
    """Every class of ours that Textual runs."""
    for module in pkgutil.walk_packages(ui.__path__, f"{ui.__name__}."):
        for _, found in inspect.getmembers(importlib.import_module(module.name), inspect.isclass):
            if found.__module__ == module.name and issubclass(found, MessagePump):
                yield found


@functools.cache
def attributes(of: type) -> set[str]:
    """The private attributes that a class's own code sets."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(of)))
    targets = [
        target
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
    ]
    names = {
        target.attr
        for target in targets
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self"
    }
    names |= {target.id for target in targets if isinstance(target, ast.Name)} & set(vars(of))
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def test_no_attribute_of_ours_is_textuals() -> None:
    """One named `_running` once kept a bar from ever being drawn again."""
    clashes = {
        (of.__name__, name)
        for of in classes()
        for base in of.__mro__
        if base.__module__.startswith("textual.")
        for name in attributes(of) & (attributes(base) | set(vars(base)))
    }
    assert clashes == set()
