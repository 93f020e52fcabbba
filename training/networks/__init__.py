"""Networks, the policy around them, and initial weights."""
