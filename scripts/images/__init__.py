"""The container image without a container engine: a tree of files, three layers, an OCI layout.

Standard library only, so that the same code runs inside a build stage of the Containerfile.
"""
