"""Statistics of samples that were taken in turn: no dependency beyond Python."""
import math


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values):
    """The 95 % interval of the median by order statistics: the binomial's normal approximation, which for fewer
    than 6 values is the whole range."""
    ordered = sorted(values)
    count = len(ordered)
    half = 1.96 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - half))
    high = min(count - 1, math.ceil(count / 2 + half))
    return ordered[low], ordered[high]


def ratio(first, second):
    """first / second of paired samples: (median, low, high)."""
    ratios = [a / b for a, b in zip(first, second, strict=True)]
    low, high = median_interval(ratios)
    return median(ratios), low, high


def band(first, second):
    """How far from 1 the ratio of a thing to itself is, by its interval: the A/A band."""
    _, low, high = ratio(first, second)
    return max(abs(low - 1), abs(high - 1))


def is_gain(found, noise):
    """A gain counts when its whole interval lies above 1 and it exceeds the band."""
    middle, low, _ = found
    return low > 1 and middle - 1 > noise
