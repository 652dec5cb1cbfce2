"""Initdata of confidential pods: the measured document that goes into the guest. Pure."""
