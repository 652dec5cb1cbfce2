{{- define "vestibule.name" -}}
{{- $values := .values -}}
{{- if $values.fullnameOverride -}}
{{- $values.fullnameOverride -}}
{{- else -}}
{{- $chart := default .root.Chart.Name $values.nameOverride -}}
{{- $whole := ternary .root.Release.Name (printf "%s-%s" .root.Release.Name $chart) (contains $chart .root.Release.Name) -}}
{{- $whole | replace "." "-" | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "vestibule.image" -}}
{{- if .image.digest -}}
{{- printf "%s@%s" .image.repository .image.digest -}}
{{- else -}}
{{- printf "%s:%s" .image.repository (default .version .image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* Everything that the templates ask: the values, the settings with their defaults, and what follows. */ -}}
{{- define "vestibule.context" -}}
{{- $values := include "vestibule.values" . | fromJson -}}
{{- $settings := mergeOverwrite (include "vestibule.native.defaults" . | fromJson) (deepCopy $values.settings) -}}
{{- $name := include "vestibule.name" (dict "root" . "values" $values) -}}
{{- $mode := $values.certificate.mode -}}
{{- $given := $settings.gcp.allowConfigMapWrites -}}
{{- $writes := ternary (eq $settings.mode "strict") $given (kindIs "invalid" $given) -}}
{{- $mapping := "" -}}
{{- if has "eks" $settings.vocabularies -}}
{{- $mapping = regexReplaceAll "^[^/]*/?" $settings.eks.mappingConfigMap "" -}}
{{- end -}}
{{- $serving := $settings.serving -}}
{{- $context := dict
      "values" $values
      "settings" $settings
      "name" $name
      "namespace" .Release.Namespace
      "image" (include "vestibule.image" (dict "image" $values.image "version" .Chart.AppVersion))
      "replicas" $values.replicaCount
      "certManager" (eq $mode "cert-manager")
      "serviceCa" (eq $mode "service-ca")
      "ownSecret" (eq $mode "secret")
      "ownCertificate" (eq $mode "self")
      "caBundle" $values.certificate.caBundle
      "failurePolicy" $values.webhook.failurePolicy
      "reinvocationPolicy" $values.webhook.reinvocationPolicy
      "timeoutSeconds" $values.webhook.timeoutSeconds
      "port" (regexFind "[0-9]+$" $serving.addr)
      "metrics" (ne $serving.metricsAddr "")
      "metricsPort" (regexFind "[0-9]+$" $serving.metricsAddr)
      "leaveSeconds" (add 5 (int (ceil (addf $serving.drainSeconds $serving.graceSeconds))))
      "sandbox" $settings.sandbox.enabled
      "identityPolicies" $settings.identityPolicies
      "writes" (and $settings.gcp.enabled $writes)
      "mappingConfigMap" $mapping
      "wif" (or (has "wif" $settings.vocabularies) (has "gke" $settings.vocabularies))
      "wifPrefix" (trimSuffix "/" $settings.wif.annotationPrefix)
      "eksPrefix" $settings.eks.annotationPrefix
      "account" (default $name $values.serviceAccount.name)
      "operatorAccount" (default (printf "%s-operator" $name) $values.operator.serviceAccount.name)
      "aro" $values.operator.aro
      "aroKinds" $values.operator.aroKinds
      "evictions" $values.operator.evictions
      "hostedNamespaces" $values.operator.hostedNamespaces
      "hostedEverywhere" (and $values.operator.hosted $values.operator.hostedAllNamespaces)
      "policies" (semverCompare ">=1.30-0" .Capabilities.KubeVersion.Version)
-}}
{{- toJson $context -}}
{{- end -}}

{{- /* An object of manifests by its name there; nothing where there is none. */ -}}
{{- define "vestibule.native" -}}
{{- include (printf "vestibule.native.%s" .called) .context -}}
{{- end -}}

{{- /* One document: the object with the labels of the release and of the user. */ -}}
{{- define "vestibule.print" -}}
{{- $meta := .object.metadata -}}
{{- $root := .root -}}
{{- $labels := mergeOverwrite (deepCopy .context.values.labels) (default dict $meta.labels) (dict
      "app.kubernetes.io/managed-by" $root.Release.Service
      "app.kubernetes.io/version" $root.Chart.AppVersion
      "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_")) -}}
{{- $_ := set $meta "labels" $labels -}}
{{- $annotations := mergeOverwrite (deepCopy .context.values.annotations) (default dict $meta.annotations) -}}
{{- if $annotations -}}
{{- $_ := set $meta "annotations" $annotations -}}
{{- end }}
---
{{ toYaml .object }}
{{- end -}}

{{- /* An object of manifests as it is. */ -}}
{{- define "vestibule.asis" -}}
{{- $text := include "vestibule.native" . -}}
{{- if trim $text -}}
{{- include "vestibule.print" (dict "object" (fromYaml $text) "context" .context "root" .root) -}}
{{- end -}}
{{- end -}}

{{- /* Which namespaces and pods the API server sends: what manifests/webhook_configurations says for these settings, and what
the values add. The release's namespace, kube-system and kube-node-lease are always out. */ -}}
{{- define "vestibule.namespaceSelector" -}}
{{- $out := list "kube-system" "kube-node-lease" .namespace -}}
{{- range $name := .settings.exclude.namespaces -}}
{{- if not (contains "*" $name) -}}
{{- $out = append $out $name -}}
{{- end -}}
{{- end -}}
{{- $given := .values.webhook.namespaceSelector -}}
{{- $asked := list (dict "key" "kubernetes.io/metadata.name" "operator" "NotIn" "values" ($out | uniq | sortAlpha)) -}}
{{- $selector := dict "matchExpressions" (concat $asked (default list $given.matchExpressions)) -}}
{{- if $given.matchLabels -}}
{{- $_ := set $selector "matchLabels" $given.matchLabels -}}
{{- end -}}
{{- toJson $selector -}}
{{- end -}}

{{- define "vestibule.objectSelector" -}}
{{- $given := .values.webhook.objectSelector -}}
{{- $labels := deepCopy (default dict $given.matchLabels) -}}
{{- if and (eq (toJson .settings.vocabularies) `["azwi"]`) .settings.azwi.requireLabel -}}
{{- $_ := set $labels "azure.workload.identity/use" "true" -}}
{{- end -}}
{{- $selector := dict -}}
{{- if $labels -}}
{{- $_ := set $selector "matchLabels" $labels -}}
{{- end -}}
{{- if $given.matchExpressions -}}
{{- $_ := set $selector "matchExpressions" $given.matchExpressions -}}
{{- end -}}
{{- toJson $selector -}}
{{- end -}}

{{- /* Conditions after the one of manifests, which leaves out mirror pods. */ -}}
{{- define "vestibule.matchConditions" -}}
{{- $conditions := list -}}
{{- $globs := list -}}
{{- range $name := .settings.exclude.namespaces -}}
{{- if contains "*" $name -}}
{{- $globs = append $globs $name -}}
{{- end -}}
{{- end -}}
{{- if $globs -}}
{{- $pattern := $globs | sortAlpha | join "|" | replace "." "[.]" | replace "*" ".*" -}}
{{- $conditions = append $conditions (dict "name" "not-an-excluded-namespace" "expression" (printf "!request.namespace.matches('^(%s)$')" $pattern)) -}}
{{- end -}}
{{- if and .settings.exclude.hostNetwork (not .settings.policies) (not .settings.identityPolicies) -}}
{{- $conditions = append $conditions (dict "name" "not-on-the-host-network" "expression" "!has(object.spec.hostNetwork) || !object.spec.hostNetwork") -}}
{{- end -}}
{{- toJson $conditions -}}
{{- end -}}

{{- /* The webhook configurations of a release, as a list. */ -}}
{{- define "vestibule.registrations" -}}
{{- $context := . -}}
{{- $values := $context.values -}}
{{- $found := list -}}
{{- $selector := include "vestibule.namespaceSelector" $context | fromJson -}}
{{- $more := include "vestibule.matchConditions" $context | fromJsonArray -}}
{{- range $called := list "mutating" "validating" -}}
{{- $text := include (printf "vestibule.native.webhook.%s" $called) $context -}}
{{- if trim $text -}}
{{- $object := fromYaml $text -}}
{{- if eq $called "mutating" -}}
{{- $entry := first $object.webhooks -}}
{{- $_ := set $entry "namespaceSelector" $selector -}}
{{- $_ := set $entry "matchConditions" (concat (list (first $entry.matchConditions)) $more $values.webhook.matchConditions) -}}
{{- $pods := include "vestibule.objectSelector" $context | fromJson -}}
{{- if $pods -}}
{{- $_ := set $entry "objectSelector" $pods -}}
{{- else -}}
{{- $_ := unset $entry "objectSelector" -}}
{{- end -}}
{{- end -}}
{{- $_ := set $object.metadata "annotations" (mergeOverwrite (deepCopy $values.webhook.annotations) (default dict $object.metadata.annotations)) -}}
{{- $found = append $found $object -}}
{{- end -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{- /* A value as CEL writes it; see literal in manifests/certificates_workload. */ -}}
{{- define "vestibule.cel" -}}
{{- if kindIs "map" . -}}
{{- $parts := list -}}
{{- range $key, $value := . -}}
{{- $parts = append $parts (printf "%s:dyn(%s)" (toJson $key) (include "vestibule.cel" $value)) -}}
{{- end -}}
{{- printf "{%s}" (join "," $parts) -}}
{{- else if kindIs "slice" . -}}
{{- $parts := list -}}
{{- range $value := . -}}
{{- $parts = append $parts (include "vestibule.cel" $value) -}}
{{- end -}}
{{- printf "[%s]" (join "," $parts) -}}
{{- else -}}
{{- toJson . -}}
{{- end -}}
{{- end -}}

{{- /* CEL that holds for an object with these webhooks, whatever their caBundle; see equal in manifests/certificates_workload. */ -}}
{{- define "vestibule.equal" -}}
{{- $object := . -}}
{{- $mutating := eq $object.kind "MutatingWebhookConfiguration" -}}
{{- $said := list
      (printf "request.resource.resource == '%s'" (ternary "mutatingwebhookconfigurations" "validatingwebhookconfigurations" $mutating))
      (printf "object.metadata.name == '%s'" $object.metadata.name)
      (printf "has(object.webhooks) && size(object.webhooks) == %d" (len $object.webhooks)) -}}
{{- range $index, $hook := $object.webhooks -}}
{{- $usual := dict "namespaceSelector" dict "objectSelector" dict -}}
{{- if $mutating -}}
{{- $_ := set $usual "reinvocationPolicy" "Never" -}}
{{- end -}}
{{- range $field := include "vestibule.native.certificates.fields" $object | fromJsonArray -}}
{{- $value := "optional.none()" -}}
{{- if hasKey $hook $field -}}
{{- $value = printf "optional.of(%s)" (include "vestibule.cel" (get $hook $field)) -}}
{{- else if hasKey $usual $field -}}
{{- $value = printf "optional.of(%s)" (include "vestibule.cel" (get $usual $field)) -}}
{{- end -}}
{{- $said = append $said (printf "object.webhooks[%d].?%s == %s" $index $field $value) -}}
{{- end -}}
{{- $said = append $said (printf "!has(object.webhooks[%d].clientConfig.url)" $index) -}}
{{- $said = append $said (printf "object.webhooks[%d].clientConfig.?service == optional.of(%s)" $index (include "vestibule.cel" $hook.clientConfig.service)) -}}
{{- end -}}
{{- printf "(%s)" (join " && " $said) -}}
{{- end -}}
