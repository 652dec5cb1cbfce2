"""The operator: objects say what should be installed, controllers keep it so."""
