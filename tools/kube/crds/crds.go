// Package crds requires the modules from which tools/setup-kube.sh copies custom resource definitions. The imports keep
// the modules in go.mod; no program contains them.
package crds

import (
	_ "github.com/prometheus-operator/prometheus-operator/pkg/versionutil" // contains example/prometheus-operator-crd
	_ "sigs.k8s.io/gateway-api/pkg/consts"                                 // contains config/crd
)
