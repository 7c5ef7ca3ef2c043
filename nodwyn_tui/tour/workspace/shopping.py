"""Prints what to buy for dinner."""

from portions import scale

PANCAKES = {"flour (g)": 250.0, "milk (ml)": 500.0, "eggs": 4.0}

if __name__ == "__main__":
    for name, amount in scale(PANCAKES, written_for=4, wanted_for=6).items():
        print(f"{amount:6g}  {name}")
