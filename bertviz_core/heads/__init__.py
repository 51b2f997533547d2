"""The heads of a layer: projections, weights per head, and one attention score broken down."""
