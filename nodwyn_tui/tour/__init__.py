"""The built-in guide, served over the Ollama protocol."""
