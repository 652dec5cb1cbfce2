"""The parts of the Helm chart that are made from the code: objects, values, schema, definitions."""
