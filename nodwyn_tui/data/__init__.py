"""Run-time data shipped in the wheel, each file with its source and licence."""
