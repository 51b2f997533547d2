"""Controls of the page Sentences that are not declared: its list, the map's selection, and pairs with similarities."""
