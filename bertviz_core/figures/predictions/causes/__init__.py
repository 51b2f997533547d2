"""What interventions change: effects of heads and blocks, heads removed one after the other, patches."""
