"""What text looks like that a terminal makes of a dropped file. A look at its characters only: the
worker alone looks at the disk, and says what it is (IMG-1).
"""

import re

_MOST_CHARACTERS = 16_384
_MOST_LINES = 64
_BEGINS = re.compile(
    r"""
      file:/
    | \$?["']? (?: / | ~ | \\\\ | [A-Za-z]:[\\/] )   # quoted or not: posix, home, UNC, Windows
    """,
    re.VERBOSE,
)
_ENDING = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp|tiff?|avif|heic|ico)[\"']?$", re.IGNORECASE)

_COMMAND = re.compile(r"/[\w-]+(?:\s|$)")


def could_be_paths(text: str) -> bool:
    """Whether every line begins as the path of a file would, and there are not too many."""
    if len(text) > _MOST_CHARACTERS:
        return False
    lines = [line.strip() for line in text.strip().split("\n")]
    return len(lines) <= _MOST_LINES and all(_BEGINS.match(line) for line in lines)


def is_image_name(name: str) -> bool:
    """Whether a file's name ends as that of an image does."""
    return bool(_ENDING.search(name))


def could_be_an_image(text: str) -> bool:
    """Whether a message is one line that looks like nothing but an image's path, as some terminals
    type it.
    """
    line = text.strip()
    if "\n" in line or _COMMAND.match(line):
        return False
    return could_be_paths(line) and bool(_ENDING.search(line))
