"""Pages of the dashboard, one file each: widgets, computation through ui.cache, figures."""
