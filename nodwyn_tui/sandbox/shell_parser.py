"""Reads a shell command into the simple commands it would run. What is not certain is not parsed:
`shell_words` then has the person asked (SEC-2). Nothing is expanded, looked up or run.
"""

import re
from dataclasses import dataclass, field

_DEEPEST = 20

_RESERVED = frozenset(
    {
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case"),
        *("esac", "select", "function", "time", "coproc", "in", "[[", "]]", "{", "}"),
    }
)
"""Words that begin more than a simple command."""

_CHANGERS = frozenset(
    {
        *("eval", "exec", "source", ".", "trap", "alias", "unalias", "builtin", "command"),
        *("enable", "hash", "shopt", "set", "bind", "complete", "fc", "history"),
    }
)
"""Commands that run a text, or change what the words after them mean."""

_EVALUATORS = frozenset(
    {
        *("[", "test", "printf", "read", "unset", "let", "declare", "typeset", "local", "export"),
        *("readonly", "mapfile", "readarray", "wait", "getopts"),
    }
)
"""Commands that expand a name they are given once more, as in `printf -v 'a[$(evil)]' x`."""

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|\?)")
_PLAIN = re.compile(r"[A-Za-z0-9_./,:@%+=~^\-\u00a1-\U0010ffff]+")
_DUPLICATED = re.compile(r"\d+|-")


class Unsure(Exception):
    """No failure, but the answer "ask": the text can't be parsed with certainty."""


@dataclass(frozen=True, slots=True)
class Part:
    """One simple command: its words with the quotes taken off, assignments before it among them,
    variables and substitutions as they are written. `redirected` says that a file other than
    `/dev/null` is opened for it.
    """

    words: tuple[str, ...]
    redirected: bool = False


@dataclass(slots=True)
class _Command:
    """A simple command as it is read; `name` is the word that names the program."""

    words: list[str] = field(default_factory=list)
    name: str = ""
    redirected: bool = False


class Parser:
    """Reads a command once, from left to right; `found` are its simple commands so far."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self._text = text
        self._at = 0
        self._depth = depth
        self.found: list[Part] = []

    def commands(self, closing: str) -> None:
        """Reads commands up to `closing`, or up to the end if that is ''."""
        while True:
            self._blanks(lines=True)
            if self._next(closing):
                return
            if self._at >= len(self._text):
                raise Unsure
            if self._ahead("(("):  # arithmetic, which can run commands of its own
                raise Unsure
            if self._next("("):
                self._deeper()
                self.commands(closing=")")
                self._depth -= 1
                self._after_group()
            else:
                self._simple()
            if not self._separator() and not self._ahead(closing):
                raise Unsure

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise Unsure

    def _next(self, token: str) -> bool:
        """Steps over `token` if it is next; '' is the end."""
        if not self._ahead(token):
            return False
        self._at += len(token)
        return True

    def _ahead(self, token: str) -> bool:
        if not token:
            return self._at >= len(self._text)
        return self._text.startswith(token, self._at)

    def _blanks(self, *, lines: bool = False) -> None:
        """Steps over blanks, joined lines and comments, and over line ends if `lines`."""
        while True:
            start = self._at
            while self._text[self._at : self._at + 1] in (" ", "\t") or (
                lines and self._ahead("\n")
            ):
                self._at += 1
            self._next("\\\n")
            if self._ahead("#"):
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            if self._at == start:
                return

    def _separator(self) -> bool:
        """Steps over what parts two commands."""
        self._blanks()
        return any(self._next(token) for token in ("&&", "||", "|&", "|", ";", "&", "\n"))

    def _after_group(self) -> None:
        """A subshell may be redirected as a whole."""
        command = _Command()
        while self._redirection(command):
            self._blanks()
        if command.redirected:
            self.found.append(Part((), redirected=True))

    def _simple(self) -> None:
        command = _Command()
        while True:
            self._blanks()
            if self._at >= len(self._text) or self._text[self._at] in ";&|\n)":
                if self._ahead("&>"):
                    self._redirection(command)
                    continue
                break
            if self._redirection(command):
                continue
            if self._ahead("("):  # a function, an array, or what bash itself would refuse
                raise Unsure
            self._word_of(command)
        if not command.words and not command.redirected:
            raise Unsure
        expanded = any("$" in word or "`" in word for word in command.words)
        if expanded and command.name in _EVALUATORS:
            raise Unsure
        self.found.append(Part(tuple(command.words), redirected=command.redirected))

    def _word_of(self, command: _Command) -> None:
        start = self._at
        word = self._word()
        written = self._text[start : self._at]
        if not command.name:
            if word == written == "!" and not command.words:
                return
            if _ASSIGNMENT.match(written):
                command.words.append(word)
                return
            unclear = written != "[" and re.search(r"[$`*?\[~]", written)
            if unclear or word in _RESERVED or word in _CHANGERS:
                raise Unsure
            command.name = word or "''"
        command.words.append(word)

    def _redirection(self, command: _Command) -> bool:
        """Reads a redirection if one is next. Here-documents and process substitution are not."""
        self._blanks()
        match = re.compile(r"\d*(?=[<>])|&(?=>)").match(self._text, self._at)
        if match is None:
            return False
        self._at = match.end()
        if self._ahead("<<") or self._ahead("<(") or self._ahead(">("):
            raise Unsure
        operator = next(
            token for token in (">>", ">&", ">|", "<>", "<&", ">", "<") if self._next(token)
        )
        self._blanks()
        target = self._word()
        if operator in (">&", "<&") and _DUPLICATED.fullmatch(target):
            return True
        if target != "/dev/null":
            command.redirected = True
        return True

    def _word(self) -> str:
        """Reads one word and takes its quotes off."""
        out: list[str] = []
        start = self._at
        while self._at < len(self._text):
            char = self._text[self._at]
            if char in " \t\n;&|<>()":
                break
            out.append(self._piece(char))
        if self._at == start:
            raise Unsure
        return "".join(out)

    def _piece(self, char: str) -> str:
        """The next piece of a word, outside quotes."""
        match char:
            case "'":
                return self._single_quoted()
            case '"':
                return self._double_quoted()
            case "\\":
                return self._escaped()
            case "$":
                return self._dollar(quoted=False)
            case "`":
                return self._backticks(quoted=False)
            case "{" | "}":  # braces make several words of one
                raise Unsure
            case _:
                plain = _PLAIN.match(self._text, self._at)
                self._at = plain.end() if plain else self._at + 1
                return plain[0] if plain else char

    def _single_quoted(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise Unsure
        text = self._text[self._at + 1 : end]
        self._at = end + 1
        return text

    def _double_quoted(self) -> str:
        self._at += 1
        out: list[str] = []
        while not self._next('"'):
            char = self._text[self._at : self._at + 1]
            if not char:
                raise Unsure
            if char == "$":
                out.append(self._dollar(quoted=True))
            elif char == "`":
                out.append(self._backticks(quoted=True))
            elif char == "\\" and self._text[self._at + 1 : self._at + 2] in '$`"\\\n':
                out.append(self._escaped())
            else:
                out.append(char)
                self._at += 1
        return "".join(out)

    def _escaped(self) -> str:
        char = self._text[self._at + 1 : self._at + 2]
        if not char:
            raise Unsure
        self._at += 2
        return "" if char == "\n" else char

    def _dollar(self, *, quoted: bool) -> str:
        """A variable or a substitution, given back as it is written; its commands are found too."""
        start = self._at
        if self._ahead("$(("):
            raise Unsure
        if self._next("$("):
            self._inner(self._text, self._at, ")")
            return self._text[start : self._at]
        match = _VARIABLE.match(self._text, self._at)
        if match:
            self._at = match.end()
            return match[0]
        following = self._text[self._at + 1 : self._at + 2]
        if following in ({'"', " "} if quoted else {" ", "\t", "\n", ""}):
            self._at += 1
            return "$"
        raise Unsure

    def _backticks(self, *, quoted: bool) -> str:
        start = self._at
        end = self._text.find("`", start + 1)
        inner = self._text[start + 1 : end]
        if end < 0 or "\\" in inner or (quoted and '"' in inner):
            raise Unsure
        self._inner(inner, 0, "")
        self._at = end + 1
        return self._text[start : self._at]

    def _inner(self, text: str, at: int, closing: str) -> None:
        """Reads the commands of a substitution, which begins at `at` in `text`."""
        parser = Parser(text, self._depth)
        parser._deeper()
        parser._at = at
        parser.commands(closing)
        self.found += parser.found
        if text is self._text:
            self._at = parser._at
