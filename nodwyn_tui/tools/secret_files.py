"""Which files are known to hold secrets, or are a program's own business: even to read them needs
the person's word, inside the workspace too (AGT-9, C76).
"""

import re
import unicodedata
from pathlib import PurePath

PRIVATE_FOLDERS = frozenset({".git", "git~1", ".nodwyn"})
"""Inner folders of git and of this program, in the spelling of `folded`."""

_SECRET_FOLDERS = frozenset({".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store"})
_SECRET_SUFFIXES = (".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk")
_SECRET_NAMES = frozenset(
    {
        *(".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".htpasswd", ".s3cfg"),
        *(".git-credentials", ".dockercfg", ".vault-token", ".envrc", ".boto", ".bash_history"),
        *(".zsh_history", ".python_history", "credentials", "auth.json"),
    }
)
_SECRET_SHAPES = re.compile(
    r"\.env(\.(?!(example|sample|template|dist|defaults?)$).*)?"
    r"|id_(rsa|dsa|ecdsa|ed25519)(_sk)?(?!.*\.pub$).*"
    r"|(credentials?|secrets?)\.(json|ya?ml|toml|ini|cfg|env|xml|csv|db|txt)"
    r"|service[-_]account.*\.json"
)
_SECRET_PLACES = (
    *(".docker/config.json", ".config/gcloud", ".config/gh", ".local/share/keyrings"),
    *("etc/shadow", "etc/gshadow", "etc/sudoers"),
)


def folded(name: str) -> str:
    """`name` as a forgiving file system sees it: no case, no unseen characters (HFS+ passes over
    them), compatible forms alike.
    """
    seen = (char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", "".join(seen)).casefold().rstrip(". ")


def is_secret(path: PurePath) -> bool:
    """Whether a path, relative to the workspace or absolute, is or lies in something secret or
    private.
    """
    names = [folded(part) for part in path.parts]
    if not names:
        return False
    if any(name in PRIVATE_FOLDERS or name in _SECRET_FOLDERS for name in names):
        return True
    whole = "/".join(["", *names, ""])
    if any(f"/{place}/" in whole for place in _SECRET_PLACES):
        return True
    last = names[-1]
    return (
        last in _SECRET_NAMES
        or last.endswith(_SECRET_SUFFIXES)
        or _SECRET_SHAPES.fullmatch(last) is not None
    )
