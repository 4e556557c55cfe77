"""Speed and quality as ratios against a contender in the same run: machines are noisy, absolute times mean nothing."""
