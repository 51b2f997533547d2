"""Late interaction of a query and a document: every token of the query with every token of the document."""
