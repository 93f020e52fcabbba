"""What a run writes about itself: progress, snapshots of the policy, a page."""
