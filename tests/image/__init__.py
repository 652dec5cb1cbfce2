"""The image that ``scripts/image`` makes, unpacked and run, and its bill of materials."""
