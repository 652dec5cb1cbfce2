{{- /* The values as the templates use them: names of other charts moved to ours, and all that is wrong told at
once. Values that the schema can check are checked there. */ -}}

{{- define "vestibule.values" -}}
{{- $values := deepCopy .Values -}}
{{- $problems := list -}}
{{- $moved := list -}}
{{- range $one := .Files.Get "files/othernames.yaml" | fromYamlArray -}}
  {{- $found := include "vestibule.values.at" (dict "in" $.Values "path" $one.name) | fromJson -}}
  {{- if $found.there -}}
    {{- $value := $found.value -}}
    {{- if $one.refused -}}
      {{- $problems = append $problems (printf "%s: %s" $one.name $one.refused) -}}
    {{- else if $one.ignored -}}
      {{- $moved = append $moved (printf "%s is not needed: %s" $one.name $one.ignored) -}}
    {{- else if hasKey $one "only" -}}
      {{- if ne (toString $value) (toString $one.only) -}}
        {{- $problems = append $problems (printf "%s is %v, want %v: it cannot be changed here" $one.name $value $one.only) -}}
      {{- end -}}
    {{- else -}}
      {{- if $one.values -}}
        {{- if hasKey $one.values (toString $value) -}}
          {{- $value = get $one.values (toString $value) -}}
        {{- else -}}
          {{- $problems = append $problems (printf "%s is %v, want %s; the name here is %s" $one.name $value (keys $one.values | sortAlpha | join ", ") $one.ours) -}}
        {{- end -}}
      {{- else if eq (default "" $one.form) "address" -}}
        {{- $value = ternary (printf "0.0.0.0%s" $value) $value (hasPrefix ":" $value) -}}
      {{- else if eq (default "" $one.form) "port" -}}
        {{- $value = printf "0.0.0.0:%d" (int $value) -}}
      {{- else if eq (default "" $one.form) "days" -}}
        {{- $value = printf "%dh" (mul 24 (int $value)) -}}
      {{- end -}}
      {{- $ours := include "vestibule.values.at" (dict "in" $.Values "path" $one.ours) | fromJson -}}
      {{- if and $ours.there (hasPrefix "settings." $one.ours) (ne (toJson $ours.value) (toJson $value)) -}}
        {{- $problems = append $problems (printf "%s and %s say different things; keep %s" $one.name $one.ours $one.ours) -}}
      {{- end -}}
      {{- include "vestibule.values.put" (dict "in" $values "path" $one.ours "value" $value) -}}
      {{- $moved = append $moved (printf "%s is %s here" $one.name $one.ours) -}}
      {{- range $path, $more := $one.also -}}
        {{- $there := include "vestibule.values.at" (dict "in" $values "path" $path) | fromJson -}}
        {{- if not $there.there -}}
          {{- include "vestibule.values.put" (dict "in" $values "path" $path "value" $more) -}}
        {{- end -}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- end -}}
{{- if kindIs "bool" $values.finalCheck -}}
  {{- /* YAML reads a bare off as false */ -}}
  {{- if $values.finalCheck -}}
    {{- $problems = append $problems "finalCheck is true, want off, warn, audit or deny" -}}
  {{- end -}}
  {{- $_ := set $values "finalCheck" "off" -}}
{{- end -}}
{{- $problems = concat $problems (include "vestibule.values.problems" $values | fromJsonArray) -}}
{{- if $problems -}}
  {{- fail (printf "\n\nvestibule: these values cannot be used:\n  - %s\n" (join "\n  - " $problems)) -}}
{{- end -}}
{{- $_ := set $values "moved" $moved -}}
{{- toJson $values -}}
{{- end -}}

{{- /* What stands at a path such as a.b.c, as {there, value}; null and the empty text count as nothing. */ -}}
{{- define "vestibule.values.at" -}}
{{- $here := .in -}}
{{- $there := true -}}
{{- range $name := splitList "." .path -}}
  {{- if and $there (kindIs "map" $here) (hasKey $here $name) -}}
    {{- $here = get $here $name -}}
  {{- else -}}
    {{- $there = false -}}
  {{- end -}}
{{- end -}}
{{- if $there -}}
  {{- $there = not (or (kindIs "invalid" $here) (and (kindIs "string" $here) (eq $here "")) (and (kindIs "map" $here) (empty $here))) -}}
{{- end -}}
{{- dict "there" $there "value" (ternary $here nil $there) | toJson -}}
{{- end -}}

{{- define "vestibule.values.put" -}}
{{- $here := .in -}}
{{- $path := splitList "." .path -}}
{{- range $name := initial $path -}}
  {{- if not (kindIs "map" (get $here $name)) -}}
    {{- $_ := set $here $name dict -}}
  {{- end -}}
  {{- $here = get $here $name -}}
{{- end -}}
{{- $_ := set $here (last $path) .value -}}
{{- end -}}

{{- define "vestibule.values.problems" -}}
{{- $problems := list -}}
{{- $budget := .podDisruptionBudget -}}
{{- $least := toString $budget.minAvailable -}}
{{- if and (ne $least "") (ne (toString $budget.maxUnavailable) "") -}}
  {{- $problems = append $problems "podDisruptionBudget.minAvailable and podDisruptionBudget.maxUnavailable exclude each other" -}}
{{- end -}}
{{- if and (regexMatch "^[0-9]+$" $least) (ge (int $least) (int .replicaCount)) -}}
  {{- $problems = append $problems (printf "podDisruptionBudget.minAvailable is %s of %d replicas: no node with a replica could be drained" $least (int .replicaCount)) -}}
{{- end -}}
{{- if eq $least "100%" -}}
  {{- $problems = append $problems "podDisruptionBudget.minAvailable is 100%: no node with a replica could be drained" -}}
{{- end -}}
{{- if and (eq .certificate.mode "secret") (not .certificate.caBundle) .webhook.enabled -}}
  {{- $problems = append $problems "certificate.caBundle is empty, want the base64 PEM of the CA when certificate.mode is secret" -}}
{{- end -}}
{{- if ne .certificate.mode "secret" -}}
  {{- if .certificate.caBundle -}}
    {{- $problems = append $problems (printf "certificate.caBundle is for certificate.mode secret, and it is %s" .certificate.mode) -}}
  {{- end -}}
  {{- if .certificate.secretName -}}
    {{- $problems = append $problems (printf "certificate.secretName is for certificate.mode secret, and it is %s" .certificate.mode) -}}
  {{- end -}}
{{- end -}}
{{- if and .certificate.issuer.name (ne .certificate.mode "cert-manager") -}}
  {{- $problems = append $problems (printf "certificate.issuer.name is for certificate.mode cert-manager, and it is %s" .certificate.mode) -}}
{{- end -}}
{{- if regexMatch "(^|/)(cwii|workload-identity/webhook)$" .image.repository -}}
  {{- $problems = append $problems (printf "image.repository is %s, the image of another webhook; want one that runs vestibule" .image.repository) -}}
{{- end -}}
{{- $memory := toString (dig "limits" "memory" "" .resources) -}}
{{- if and (regexMatch "^[0-9]+Mi$" $memory) (lt (int (trimSuffix "Mi" $memory)) 64) -}}
  {{- $problems = append $problems (printf "resources.limits.memory is %s, want 64Mi or more" $memory) -}}
{{- end -}}
{{- range $field := list "nameOverride" "fullnameOverride" -}}
  {{- $name := get $ $field -}}
  {{- if and $name (or (gt (len $name) 40) (not (regexMatch "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$" $name))) -}}
    {{- $problems = append $problems (printf "%s is %s, want at most 40 lower case letters, digits and '-'" $field $name) -}}
  {{- end -}}
{{- end -}}
{{- if not (or .webhook.enabled .operator.enabled) -}}
  {{- $problems = append $problems "webhook.enabled and operator.enabled are both false: nothing would be installed" -}}
{{- end -}}
{{- if and .operator.hostedNamespaces (not .operator.hosted) -}}
  {{- $problems = append $problems "operator.hostedNamespaces is for operator.hosted, and that is false" -}}
{{- end -}}
{{- if and .operator.aroKinds (not .operator.aro) -}}
  {{- $problems = append $problems "operator.aroKinds is for operator.aro, and that is false" -}}
{{- end -}}
{{- if and .operator.hosted (not .operator.hostedNamespaces) (not .operator.hostedAllNamespaces) -}}
  {{- $problems = append $problems "operator.hostedNamespaces is empty, want the namespaces of control planes with operator.hosted, or operator.hostedAllNamespaces" -}}
{{- end -}}
{{- if and .operator.hostedAllNamespaces (or (not .operator.hosted) .operator.hostedNamespaces) -}}
  {{- $problems = append $problems "operator.hostedAllNamespaces is true, want false without operator.hosted, or with operator.hostedNamespaces" -}}
{{- end -}}
{{- range $field := list "hosted" "aro" "evictions" -}}
  {{- if and (get $.operator $field) (not $.operator.enabled) -}}
    {{- $problems = append $problems (printf "operator.%s is for operator.enabled, and that is false" $field) -}}
  {{- end -}}
{{- end -}}
{{- if and (not .rbac.create) .operator.enabled -}}
  {{- $problems = append $problems "rbac.create is false: the operator cannot do without its roles" -}}
{{- end -}}
{{- toJson $problems -}}
{{- end -}}
