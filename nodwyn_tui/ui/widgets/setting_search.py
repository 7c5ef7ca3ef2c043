"""Looking for settings by words (TUI-5)."""

from collections.abc import Callable, Iterable, Iterator

from nodwyn_tui.link.settings import Setting, SettingsGroup


def found(
    groups: Iterable[SettingsGroup], text: str
) -> Iterator[tuple[SettingsGroup, list[Setting]]]:
    """The groups that have rows with every word of a text anywhere, and these rows: those that have
    the words in their names before those that have them in their help.
    """
    words = text.lower().split()
    for group in groups:
        rows = sorted(filter(_holding(group, words), group.rows), key=_by_name(words))
        if rows:
            yield group, rows


def _holding(group: SettingsGroup, words: list[str]) -> Callable[[Setting], bool]:
    """Whether a row has every word anywhere."""

    def holds(row: Setting) -> bool:
        text = " ".join((group.title, group.name, row.label, row.help, ".".join(row.path))).lower()
        return bool(words) and all(word in text for word in words)

    return holds


def _by_name(words: list[str]) -> Callable[[Setting], bool]:
    """Rows that have the words in their names before those whose help has them."""

    def only_in_help(row: Setting) -> bool:
        name = f"{row.label} {'.'.join(row.path)}".lower()
        return not all(word in name for word in words)

    return only_in_help
