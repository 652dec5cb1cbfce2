"""Annotations to claims. A dialect knows no cloud variable and no other dialect."""
