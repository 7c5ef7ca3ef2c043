"""Settings, credentials, trust, and where things lie."""
