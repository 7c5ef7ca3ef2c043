"""The policy lab: recorded sessions folded again under other policies. No model is called."""
