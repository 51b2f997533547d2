"""Questions about models, texts and corpora, shared by the dashboard, the command line and the library."""
