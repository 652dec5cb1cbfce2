"""The vocabularies we understand, one module each."""
