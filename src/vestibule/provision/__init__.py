"""Creates and changes what a cluster identity needs in a cloud: observe, plan, perform."""
