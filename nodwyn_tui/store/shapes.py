"""The documented table of known credential shapes (ENG-6, SEC-1). Data only: how a text is searched
stands in `redact.py`. A shape is known by how its issuer marks it, never by its entropy.
"""

from dataclasses import dataclass

TOKEN_RUN = 20
"""Every token of the first table has this many characters of `[A-Za-z0-9_-]` in a row, or more;
the run starts with the token or at most `LEAD` characters later."""
LEAD = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """A credential: `kind` names it in its marker, `issuer` for people, `starts` are the texts it
    begins with, `rest` what must follow them. A group named `secret` is what gets replaced; else
    the whole is.
    """

    kind: str
    issuer: str
    starts: tuple[str, ...]
    rest: str


_WORD = r"[A-Za-z0-9]"
_URL = r"[A-Za-z0-9_-]"
_PEM_EDGE = r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"

TOKENS: tuple[Shape, ...] = (
    Shape("anthropic-key", "Anthropic", ("sk-ant-",), _URL + "{20,}"),
    Shape("openrouter-key", "OpenRouter", ("sk-or-",), _URL + "{20,}"),
    Shape("openai-key", "OpenAI", ("sk-proj-", "sk-svcacct-", "sk-admin-"), _URL + "{20,}"),
    Shape("api-key", "OpenAI (older), DeepSeek, Moonshot and others", ("sk-",), _WORD + "{32,}"),
    Shape("cerebras-key", "Cerebras", ("csk-",), _WORD + "{32,}"),
    Shape("groq-key", "Groq", ("gsk_",), _WORD + "{40,}"),
    Shape("xai-key", "xAI", ("xai-",), _WORD + "{60,}"),
    Shape("perplexity-key", "Perplexity", ("pplx-",), _WORD + "{40,}"),
    Shape("nvidia-key", "NVIDIA", ("nvapi-",), _URL + "{40,}"),
    Shape("replicate-token", "Replicate", ("r8_",), _WORD + "{30,}"),
    Shape("huggingface-token", "Hugging Face", ("hf_", "api_org_"), _WORD + "{30,}"),
    Shape("tavily-key", "Tavily", ("tvly-",), _URL + "{20,}"),
    Shape("github-token", "GitHub", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _WORD + "{36,}"),
    Shape("github-token", "GitHub, fine-grained", ("github_pat_",), r"[A-Za-z0-9_]{40,}"),
    Shape(
        "gitlab-token",
        "GitLab",
        ("glpat-", "gloas-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-", "glagent-"),
        _URL + "{20,}",
    ),
    Shape(
        "aws-access-key", "AWS", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}(?![A-Za-z0-9])"
    ),
    Shape("google-key", "Google API", ("AIza",), _URL + "{35}(?![A-Za-z0-9_-])"),
    Shape("google-token", "Google OAuth", ("ya29.", "GOCSPX-"), _URL + "{24,}"),
    Shape(
        "slack-token",
        "Slack",
        ("xoxb-", "xoxp-", "xoxa-", "xoxo-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"),
        r"[A-Za-z0-9.-]{20,}",
    ),
    Shape(
        "stripe-key", "Stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"), _WORD + "{16,}"
    ),
    Shape("stripe-webhook-secret", "Stripe", ("whsec_",), _WORD + "{24,}"),
    Shape("npm-token", "npm", ("npm_",), _WORD + "{36,}"),
    Shape("pypi-token", "PyPI", ("pypi-AgE",), _URL + "{40,}"),
    Shape("rubygems-key", "RubyGems", ("rubygems_",), r"[a-f0-9]{48}"),
    Shape("docker-token", "Docker Hub", ("dckr_pat_", "dckr_oat_"), _URL + "{24,}"),
    Shape("sendgrid-key", "SendGrid", ("SG.",), _URL + r"{20,24}\." + _URL + "{39,50}"),
    Shape("digitalocean-token", "DigitalOcean", ("dop_v1_", "doo_v1_", "dor_v1_"), "[a-f0-9]{64}"),
    Shape("databricks-token", "Databricks", ("dapi",), "[a-f0-9]{32}(?![A-Za-z0-9])"),
    Shape("shopify-token", "Shopify", ("shpat_", "shpca_", "shppa_", "shpss_"), "[A-Fa-f0-9]{32}"),
    Shape("linear-key", "Linear", ("lin_api_", "lin_oauth_"), _WORD + "{32,}"),
    Shape("notion-token", "Notion", ("ntn_",), _WORD + "{40,}"),
    Shape("figma-token", "Figma", ("figd_",), _URL + "{36,}"),
    Shape("postman-key", "Postman", ("PMAK-",), "[a-f0-9]{24}-[a-f0-9]{34}"),
    Shape("atlassian-token", "Atlassian", ("ATATT3", "ATCTT3"), r"[A-Za-z0-9_=-]{100,}"),
    Shape("grafana-token", "Grafana", ("glsa_", "glc_"), r"[A-Za-z0-9_+/=]{32,}"),
    Shape("sentry-token", "Sentry", ("sntrys_", "sntryu_"), r"[A-Za-z0-9_+/=]{40,}"),
    Shape("supabase-key", "Supabase", ("sbp_", "sb_secret_"), r"[A-Za-z0-9_-]{24,}"),
    Shape(
        "doppler-token",
        "Doppler",
        ("dp.pt.", "dp.st."),
        r"(?:[a-z0-9_-]{2,5}\.)?" + _WORD + "{40,}",
    ),
    Shape("vault-token", "HashiCorp Vault", ("hvs.", "hvb."), _URL + "{24,}"),
    Shape("onepassword-token", "1Password", ("ops_eyJ",), r"[A-Za-z0-9+/_-]{200,}={0,2}"),
    Shape("age-key", "age", ("AGE-SECRET-KEY-1",), "[A-Z0-9]{58}"),
    Shape(
        "jwt",
        "JSON Web Token",
        ("eyJ",),
        _URL + r"{15,}\.eyJ" + _URL + r"{8,}\.(?:" + _URL + "{16,})",
    ),
)
"""Credentials known by their beginning, where no letter, digit, `-` or `_` stands before it: so a
blob of base64 holds one only by a very rare chance."""

PHRASES: tuple[Shape, ...] = (
    Shape(
        "private-key",
        "PEM, OpenSSH, PGP",
        ("-----BEGIN ",),
        _PEM_EDGE + r"(?s:.{0,300}?)[A-Za-z0-9+/=]{40}"
        r"(?:(?s:.{0,8000}?)-----END " + _PEM_EDGE + r"|[A-Za-z0-9+/=\s\\\"'|>:]*)",
    ),
    Shape(
        "aws-secret-key",
        "AWS",
        ("secret_access_key", "SECRET_ACCESS_KEY", "ecretAccessKey"),
        r"\\?[\"']?\s{0,8}(?:[:=]|=>|:=)\s{0,8}\\?[\"']?"
        r"(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    Shape(
        "aws-session-token",
        "AWS",
        ("session_token", "SESSION_TOKEN", "SessionToken"),
        r"\\?[\"']?\s{0,8}(?:[:=]|=>|:=)\s{0,8}\\?[\"']?(?P<secret>[A-Za-z0-9/+]{100,}={0,2})",
    ),
    Shape(
        "azure-account-key",
        "Azure Storage",
        ("AccountKey=",),
        r"(?P<secret>[A-Za-z0-9+/]{86}==)",
    ),
    Shape(
        "slack-webhook",
        "Slack",
        ("hooks.slack.com/services/",),
        r"(?P<secret>T[A-Za-z0-9_]{6,14}/B[A-Za-z0-9_]{6,14}/[A-Za-z0-9]{20,})",
    ),
)
"""Credentials known by a phrase before them or around them, wherever it stands."""
