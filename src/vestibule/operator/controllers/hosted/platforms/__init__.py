"""One module per flavour of control plane: where its kubeconfig and authority live, how we may attach."""
