"""A confidence sequence: bounds on a mean that hold at all times together, so that one may look after every row.

The rows x_1, x_2, ... are divided by the largest possible value, so that they are in [0, 1]. With the level alpha and
k = 2 for two bounds, k = 1 for the lower bound alone, the bounds after row t are [1]_, Theorem 2,

    ( sum_i lambda_i x_i  -+  ( log(k / alpha) + sum_i 4 (x_i - m_{i-1})^2 psi(lambda_i) ) )  /  sum_i lambda_i

    psi(lambda) = ( -log(1 - lambda) - lambda ) / 4
    lambda_t    = min( sqrt( 2 log(k / alpha) / ( s_{t-1} t log(1 + t) ) ),  1/2 )
    m_t         = ( 1/2 + x_1 + ... + x_t ) / (t + 1)
    s_t         = ( 1/4 + sum_i (x_i - m_i)^2 ) / (t + 1)

If every row has the same mean, given the rows before it, then all bounds of all rows hold together with probability at
least 1 - alpha. So the largest lower bound and the smallest upper bound so far hold too (the running intersection).
The lower bound needs less: if no row has a mean above some number, given the rows before it, then no lower bound ever
exceeds this number, with probability at least 1 - alpha. Rows need not be independent.

References
----------
.. [1] Waudby-Smith, I. & Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of the
   Royal Statistical Society Series B, 86(1), 1-27.
"""

import math

from thrifty.models.parameters import is_number

LARGEST_BET = 0.5  # of lambda; the paper recommends 1/2 or 3/4
SIDES = {"both": 2.0, "lower": 1.0}


class ConfidenceSequence:
    """Bounds on the mean of numbers from 0 to `largest`, which hold at all times together.

    A row takes constant time and memory.

    Parameters
    ----------
    largest : float, default=1.0
        The largest possible value. Larger values count as `largest`. This can only lower the mean, so the lower bound
        still holds for the mean of the values as they are; the upper bound is then for the mean of the limited values.
    alpha : float, default=0.05
        The probability that a bound ever fails is at most `alpha`.
    side : {"both", "lower"}, default="both"
        Whether both bounds are computed, or only the lower one, which is then larger.

    Attributes
    ----------
    n_rows : int
        The number of values so far.
    lower, upper : float
        The bounds; `upper` is `largest` if only the lower one is computed. If the mean changes over time, `lower` can
        become larger than `upper`: there is no single mean that explains all rows.

    References
    ----------
    .. [1] Waudby-Smith, I. & Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal of
       the Royal Statistical Society Series B, 86(1), 1-27. Theorem 2.

    Examples
    --------
    >>> from thrifty.runtime.watch.confidence import ConfidenceSequence
    >>> sequence = ConfidenceSequence(largest=10)
    >>> for spend in [2.0, 4.0] * 500:
    ...     sequence.update(spend)
    >>> sequence
    ConfidenceSequence(1000 rows, mean from 2.882 to 3.117)
    """

    def __init__(self, largest: float = 1.0, alpha: float = 0.05, side: str = "both"):
        _refuse_unless(is_number(largest) and largest > 0, "largest", largest, "a finite number above 0")
        _refuse_unless(is_number(alpha) and 0 < alpha < 1, "alpha", alpha, "a number between 0 and 1")
        _refuse_unless(side in SIDES, "side", side, "'both' or 'lower'")
        self.largest, self.alpha, self.side = float(largest), float(alpha), side
        self.n_rows, self.lower, self.upper = 0, 0.0, float(largest)
        self._threshold = math.log(SIDES[side] / alpha)
        self._mean, self._variance = 0.5, 0.25  # m_0 and s_0
        self._total = self._squares = 0.0
        self._bets = self._won = self._penalty = 0.0

    def update(self, value: float) -> None:
        """Take the next value.

        Parameters
        ----------
        value : float
            A number of at least 0.
        """
        _refuse_unless(is_number(value, 0), "value", value, "a finite number of at least 0")
        share = min(float(value) / self.largest, 1.0)
        self.n_rows += 1
        self._bet(share)
        self._learn(share)
        self._intersect()

    def _bet(self, share: float) -> None:
        """Add the terms of a row, whose lambda depends only on the rows before it."""
        spread = self._variance * self.n_rows * math.log1p(self.n_rows)
        bet = min(math.sqrt(2.0 * self._threshold / spread), LARGEST_BET)
        self._bets += bet
        self._won += bet * share
        self._penalty += (share - self._mean) ** 2 * (-math.log1p(-bet) - bet)

    def _learn(self, share: float) -> None:
        """Update mean and variance, which the lambda of the next row depends on."""
        self._total += share
        self._mean = (0.5 + self._total) / (self.n_rows + 1)
        self._squares += (share - self._mean) ** 2
        self._variance = (0.25 + self._squares) / (self.n_rows + 1)

    def _intersect(self) -> None:
        centre = self._won / self._bets
        radius = (self._threshold + self._penalty) / self._bets
        self.lower = max(self.lower, self.largest * (centre - radius))
        if self.side == "both":
            self.upper = min(self.upper, self.largest * (centre + radius))

    def __repr__(self) -> str:
        return f"ConfidenceSequence({self.n_rows} rows, mean from {self.lower:.4g} to {self.upper:.4g})"


def _refuse_unless(valid: bool, name: str, value: object, expected: str) -> None:
    if not valid:
        raise ValueError(f"ConfidenceSequence: {name} is {value!r}; expected {expected}.")
