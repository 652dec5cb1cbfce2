// Where definitions of other projects are read from, as they ship them; nothing is built.
module vestibule/tests/rig/definitions

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/openshift/hypershift/api v0.0.0-20250331115040-26fc3ceb1929
	sigs.k8s.io/cluster-api v1.13.6
)
