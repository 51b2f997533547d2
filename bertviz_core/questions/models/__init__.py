"""Questions about a model itself: its parameters, its sizes and cost, what its files hold."""
