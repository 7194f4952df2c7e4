import random
import unittest

import paired


class Paired(unittest.TestCase):
    def test_median(self):
        self.assertEqual(paired.median([3, 1, 2]), 2)
        self.assertEqual(paired.median([4, 1, 2, 3]), 2.5)

    def test_interval_holds_the_median_and_narrows(self):
        random.seed(1)
        wide = paired.median_interval([random.gauss(10, 1) for _ in range(11)])
        narrow = paired.median_interval([random.gauss(10, 1) for _ in range(1001)])
        self.assertTrue(narrow[0] < 10 < narrow[1])
        self.assertLess(narrow[1] - narrow[0], wide[1] - wide[0])
        self.assertEqual(paired.median_interval([5]), (5, 5))

    def test_interval_covers_as_often_as_it_says(self):
        random.seed(2)
        covered = 0
        for _ in range(400):
            low, high = paired.median_interval([random.random() for _ in range(41)])
            covered += low <= 0.5 <= high
        self.assertGreater(covered / 400, 0.93)

    def test_ratio_and_band(self):
        raw, tuned = [2.0, 2.2, 1.8] * 9, [1.0, 1.1, 0.9] * 9
        self.assertAlmostEqual(paired.ratio(raw, tuned)[0], 2)
        self.assertAlmostEqual(paired.band(raw, raw), 0)
        self.assertTrue(paired.is_gain(paired.ratio(raw, tuned), 0.05))

    def test_a_gain_within_the_band_is_none(self):
        self.assertFalse(paired.is_gain((1.01, 1.005, 1.015), 0.02))
        self.assertFalse(paired.is_gain((1.10, 0.99, 1.20), 0.02))

    def test_pairs_must_match(self):
        with self.assertRaises(ValueError):
            paired.ratio([1, 2], [1])


if __name__ == "__main__":
    unittest.main()
