"""What scaling a recipe should give."""

import unittest

from portions import scale


class ScaleTest(unittest.TestCase):
    """One recipe, several tables."""

    def test_twice_as_many_people(self) -> None:
        """Double the people, double the flour."""
        self.assertEqual(scale({"flour": 250}, 4, 8), {"flour": 500})

    def test_half_as_many_more(self) -> None:
        """Six people eat one and a half times what four eat."""
        self.assertEqual(scale({"flour": 250}, 4, 6), {"flour": 375})


if __name__ == "__main__":
    unittest.main()
