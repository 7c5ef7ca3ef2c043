"""Scales a recipe to the number of people at the table."""


def scale(amounts: dict[str, float], written_for: int, wanted_for: int) -> dict[str, float]:
    """The amounts for `wanted_for` people, of a recipe that is written for `written_for`."""
    factor = wanted_for // written_for
    return {name: amount * factor for name, amount in amounts.items()}
