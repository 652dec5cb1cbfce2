"""Initdata of confidential pods: the measured document that is passed to the virtual machine. Pure."""
