"""Confidence intervals of a mean: one for a number of deals that was fixed, and one that may be looked at all the time.

**Fixed number**: Student's t. With 20 deals it is 7 % wider than with the normal distribution's 1.96 standard errors,
with 200 deals 0.6 %.

**Looked at after every deal**: who stops as soon as such an interval excludes 0 finds a difference between equal
players in far more than 5 % of all cases, because every look is another chance to be wrong. A *confidence sequence* is
wider, so that with a probability of 95 % it contains the true mean at all times at once. So one may stop whenever one
likes, and the interval holds. Here it is the one of the t-test with a normal prior on the size of the effect: the Bayes
factor of "the mean is m + effect x standard deviation, the effect being normal with standard deviation ``EFFECT``" to
"the mean is m" (Gönen, Johnson, Lu and Westfall, *The Bayesian two-sample t test*, 2005) is a martingale with mean 1
if the mean is m, whatever the standard deviation (Hendriksen, de Heide and Grünwald, *Optional stopping with Bayes
factors*, Bayesian Analysis 2021; Wang and Ramdas, *Anytime-valid t-tests and confidence sequences for Gaussian means
with unknown variance*, 2310.03722). By Ville's inequality it ever exceeds 1/0.05 with a probability of at most 0.05;
the interval is all m for which it does not. This holds exactly for normal margins. Those of deals are not normal; but
the interval is infinite up to 26 deals and very wide up to 60, and means of so many are nearly normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

ERROR = 0.05  # of a 95 % interval
EFFECT = 0.1  # margins of players that are worth comparing, in standard deviations of a deal: 0.05 to 1 here
_MANY = 100  # degrees of freedom from which the expansion is exact to 1e-9


def half_width_95(values: npt.ArrayLike) -> float:
    """The 95 % confidence interval of the mean is the mean ± this; infinite for fewer than two numbers.

    For a number of values that was fixed before looking at them.
    """
    return _half_width(values, standard_errors_95)


def half_width_at_any_time_95(values: npt.ArrayLike) -> float:
    """The same for values that are looked at again and again, until the interval is as wanted; wider."""
    return _half_width(values, standard_errors_at_any_time_95)


def _half_width(values: npt.ArrayLike, how_many: Callable[[int], float]) -> float:
    numbers = np.asarray(values, np.float64)
    errors = how_many(len(numbers))
    return errors * float(numbers.std(ddof=1)) / math.sqrt(len(numbers)) if math.isfinite(errors) else math.inf


def standard_errors_95(count: int) -> float:
    """How many standard errors on either side of the mean of so many values make a 95 % interval."""
    return student_t(1 - ERROR / 2, count - 1) if count > 1 else math.inf


def standard_errors_at_any_time_95(count: int) -> float:
    """The same for a 95 % confidence sequence."""
    if count < 2:
        return math.inf
    free, spread = count - 1, 1 + count * EFFECT**2
    bound = (math.sqrt(spread) / ERROR) ** (2 / count)
    return math.sqrt(free * (bound - 1) / (1 - bound / spread)) if bound < spread else math.inf


@lru_cache(maxsize=4096)
def student_t(probability: float, free: int) -> float:
    """The quantile of Student's t distribution.

    For few degrees of freedom by bisection of the distribution function, which then is a short sum (Abramowitz and
    Stegun, 26.7.3 and 26.7.4); for many by its expansion around the normal quantile (26.7.5).

    Args:
        probability: above 0.5 and below 1.
        free: degrees of freedom, 1 or more.
    """
    if free >= _MANY:
        z = NormalDist().inv_cdf(probability)
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
            (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
        )
        return z + sum(term / free**power for power, term in enumerate(terms, 1))
    low, high = 0.0, math.pi / 2  # of the angle atan(t / sqrt(free)), between which the quantile lies
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _within(angle, free) < 2 * probability - 1 else (low, angle)
    return math.sqrt(free) * math.tan((low + high) / 2)


def _within(angle: float, free: int) -> float:
    """The probability of a value between -t and t, where ``angle`` is atan(t / sqrt(free))."""
    odd = free % 2
    cosine, term, total = math.cos(angle), 1.0, 0.0
    if odd:
        term = cosine
    for power in range(1 + odd, free, 2):
        total += term
        term *= cosine**2 * power / (power + 1)
    return (angle + math.sin(angle) * total) * 2 / math.pi if odd else math.sin(angle) * total
