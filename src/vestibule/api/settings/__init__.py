"""The settings file: one module per section, and the checks that types cannot express."""
