"""Makes and changes what a cluster's identity needs outside the cluster: observe, plan, perform."""
