"""A page for signed-in users."""

import streamlit as st

from ui.session import require_sign_in

page = st.navigation([st.Page(lambda: st.write(f"For {st.user.get('email', 'all')} alone"), title="Page")])
require_sign_in()
page.run()
