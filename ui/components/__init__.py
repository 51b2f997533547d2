"""Custom Streamlit components: one Python and one JavaScript file each."""
