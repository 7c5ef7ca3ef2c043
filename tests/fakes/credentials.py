"""Made-up credentials of every documented shape, drawn anew at each run: none stands in a file."""

import random
import string

URL = string.ascii_letters + string.digits + "-_"
WORD = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE64 = WORD + "+/"
HEX = "0123456789abcdef"

FORMS: dict[str, tuple[str, int, str]] = {
    # a form's name: how it begins, how many characters follow, out of which
    "anthropic-key": ("sk-ant-" + "api03-", 95, URL),
    "openrouter-key": ("sk-or-" + "v1-", 64, HEX),
    "openai-key": ("sk-" + "proj-", 150, URL),
    "api-key": ("sk-", 48, WORD),
    "cerebras-key": ("csk-", 48, WORD),
    "groq-key": ("gsk_", 52, WORD),
    "xai-key": ("xai-", 80, WORD),
    "perplexity-key": ("pplx-", 48, WORD),
    "nvidia-key": ("nvapi-", 64, URL),
    "replicate-token": ("r8_", 37, WORD),
    "huggingface-token": ("hf_", 34, WORD),
    "tavily-key": ("tvly-", 32, WORD),
    "github-token": ("ghp_", 36, WORD),
    "github-token fine": ("github_" + "pat_", 82, WORD + "_"),
    "gitlab-token": ("glpat-", 20, URL),
    "aws-access-key": ("AKIA", 16, UPPER),
    "google-key": ("AIza", 35, URL),
    "google-token": ("ya29.", 60, URL),
    "slack-token": ("xoxb-", 50, string.digits),
    "stripe-key": ("sk_" + "live_", 24, WORD),
    "stripe-webhook-secret": ("whsec_", 32, WORD),
    "npm-token": ("npm_", 36, WORD),
    "pypi-token": ("pypi-AgE", 90, URL),
    "rubygems-key": ("rubygems_", 48, HEX),
    "docker-token": ("dckr_" + "pat_", 27, URL),
    "digitalocean-token": ("dop_" + "v1_", 64, HEX),
    "databricks-token": ("dapi", 32, HEX),
    "shopify-token": ("shpat_", 32, HEX),
    "linear-key": ("lin_" + "api_", 40, WORD),
    "notion-token": ("ntn_", 46, WORD),
    "figma-token": ("figd_", 40, URL),
    "atlassian-token": ("ATATT3", 180, URL),
    "grafana-token": ("glsa_", 41, WORD),
    "sentry-token": ("sntrys_", 90, WORD),
    "supabase-key": ("sbp_", 40, HEX),
    "doppler-token": ("dp." + "pt.", 43, WORD),
    "doppler-token service": ("dp." + "st.prd.", 43, WORD),
    "vault-token": ("hvs.", 90, URL),
    "onepassword-token": ("ops_" + "eyJ", 260, WORD),
    "age-key": ("AGE-SECRET-" + "KEY-1", 58, UPPER),
}


def _draw(rng: random.Random, alphabet: str, count: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(count))


def pem(rng: random.Random, label: str = "RSA PRIVATE KEY", line_end: str = "\n") -> str:
    """A private key's file, of nothing but dice."""
    body = line_end.join(_draw(rng, BASE64, 64) for _ in range(24))
    return f"-----BEGIN {label}-----{line_end}{body}{line_end}-----END {label}-----"


def samples(rng: random.Random) -> dict[str, tuple[str, str]]:
    """By form: the text as a tool would print it, and the secret in it."""
    found = {}
    for form, (start, count, alphabet) in FORMS.items():
        secret = (
            start + _draw(rng, alphabet, count - 1) + rng.choice(sorted(set(alphabet) - {*"-_"}))
        )
        found[form] = (secret, secret)
    pieces = ("eyJ" + _draw(rng, URL, 33), "eyJ" + _draw(rng, URL, 90), _draw(rng, URL, 42) + "x")
    found["jwt"] = (".".join(pieces),) * 2
    found["postman-key"] = (f"PMAK-{_draw(rng, HEX, 24)}-{_draw(rng, HEX, 34)}",) * 2
    found["sendgrid-key"] = ("SG." + _draw(rng, WORD, 22) + "." + _draw(rng, WORD, 43),) * 2
    found["private-key"] = (pem(rng),) * 2
    found["private-key escaped"] = (pem(rng, "PRIVATE KEY", "\\n"),) * 2
    found["private-key openssh"] = (pem(rng, "OPENSSH PRIVATE KEY"),) * 2
    secret = _draw(rng, BASE64, 40)
    found["aws-secret-key"] = (f"AWS_SECRET_ACCESS_KEY={secret}", secret)
    found["aws-secret-key file"] = (f"aws_secret_access_key = {secret}", secret)
    found["aws-secret-key json"] = (f'{{"SecretAccessKey": "{secret}"}}', secret)
    secret = _draw(rng, BASE64, 300) + "=="
    found["aws-session-token"] = (f"AWS_SESSION_TOKEN={secret}", secret)
    secret = _draw(rng, BASE64, 86) + "=="
    found["azure-account-key"] = (f"AccountName=made;AccountKey={secret};End=x", secret)
    secret = f"T{_draw(rng, UPPER, 9)}/B{_draw(rng, UPPER, 9)}/{_draw(rng, WORD, 24)}"
    found["slack-webhook"] = (f"https://hooks.slack.com/services/{secret}", secret)
    return found
