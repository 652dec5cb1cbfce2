{{- /* Made by scripts/chart.py from src/vestibule/manifests; change the code there. */ -}}

{{- define "vestibule.native.webhook.serviceaccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: '{{ .name }}'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
automountServiceAccountToken: false
{{- end -}}

{{- define "vestibule.native.webhook.clusterrole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: '{{ .name }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
rules:
  - apiGroups:
      - ''
    resources:
      - namespaces
      - serviceaccounts
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - apps
    resources:
      - daemonsets
      - deployments
      - replicasets
      - statefulsets
    verbs:
      - get
  - apiGroups:
      - batch
    resources:
      - cronjobs
      - jobs
    verbs:
      - get
  {{- if not (or (not .identityPolicies) (not (or .sandbox .identityPolicies))) }}
  - apiGroups:
      - vestibule.dev
    resources:
      - identitypolicies
    verbs:
      - list
  {{- end }}
  {{- if not (or (not .sandbox) (not (or .sandbox .identityPolicies))) }}
  - apiGroups:
      - kataconfiguration.openshift.io
    resources:
      - kataconfigs
      - oscwebhookconfigs
    verbs:
      - list
  {{- end }}
  {{- if not (or (not .sandbox) (not (or .sandbox .identityPolicies))) }}
  - apiGroups:
      - node.k8s.io
    resources:
      - runtimeclasses
    verbs:
      - list
  {{- end }}
  {{- if .mappingConfigMap }}
  - apiGroups:
      - ''
    resources:
      - configmaps
    resourceNames:
      - '{{ .mappingConfigMap }}'
    verbs:
      - get
  {{- end }}
  {{- if .writes }}
  - apiGroups:
      - ''
    resources:
      - configmaps
    verbs:
      - create
      - patch
  {{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.clusterrolebinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: '{{ .name }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: '{{ .name }}'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}'
    namespace: '{{ .namespace }}'
{{- end -}}

{{- define "vestibule.native.webhook.role" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: '{{ .name }}'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
rules: []
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.serviceaccount" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: '{{ .name }}-certificates'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
automountServiceAccountToken: false
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.clusterrole" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: '{{ .name }}-certificates'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
rules:
  -
    apiGroups:
      - admissionregistration.k8s.io
    resources:
      - mutatingwebhookconfigurations
    resourceNames:
      - '{{ .name }}'
      {{- if not (or (not .sandbox) (not (or .sandbox .identityPolicies))) }}
      - 00-{{ .name }}-sandbox
      {{- end }}
    verbs:
      - create
      - get
      - patch
  {{- if (or .sandbox .identityPolicies) }}
  - apiGroups:
      - admissionregistration.k8s.io
    resources:
      - validatingwebhookconfigurations
    resourceNames:
      - '{{ .name }}'
    verbs:
      - create
      - get
      - patch
  {{- end }}
  - apiGroups:
      - rbac.authorization.k8s.io
    resources:
      - clusterroles
    resourceNames:
      - '{{ .name }}'
    verbs:
      - get
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.clusterrolebinding" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: '{{ .name }}-certificates'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: '{{ .name }}-certificates'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}-certificates'
    namespace: '{{ .namespace }}'
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.role" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: '{{ .name }}-certificates'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
rules:
  - apiGroups:
      - ''
    resources:
      - secrets
    resourceNames:
      - '{{ .name }}-authority'
      - '{{ .name }}-tls'
    verbs:
      - create
      - get
      - patch
      - update
  - apiGroups:
      - coordination.k8s.io
    resources:
      - leases
    resourceNames:
      - '{{ .name }}'
    verbs:
      - create
      - get
      - patch
      - update
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.rolebinding" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: '{{ .name }}-certificates'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: '{{ .name }}-certificates'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}-certificates'
    namespace: '{{ .namespace }}'
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.policy" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: '{{ .name }}-certificates'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  failurePolicy: Fail
  matchConditions:
    - name: the-issuer
      expression: request.userInfo.username == 'system:serviceaccount:{{ .namespace }}:{{ .name }}-certificates'
  matchConstraints:
    matchPolicy: Equivalent
    resourceRules:
      - apiGroups:
          - admissionregistration.k8s.io
        apiVersions:
          - v1
        operations:
          - CREATE
          - UPDATE
          - DELETE
        resources:
          - mutatingwebhookconfigurations
          - validatingwebhookconfigurations
        scope: Cluster
  validations:
    - expression: request.operation != 'DELETE'
      message: who issues certificates deletes no webhook configuration
      reason: Forbidden
    - expression: request.operation != 'UPDATE' || (has(object.webhooks) && has(oldObject.webhooks) && object.webhooks.map(h, h.name) == oldObject.webhooks.map(o, o.name) && object.webhooks.all(h, oldObject.webhooks.exists(o, o.name == h.name && h.clientConfig.?service == o.clientConfig.?service && h.clientConfig.?url == o.clientConfig.?url && h.?admissionReviewVersions == o.?admissionReviewVersions && h.?failurePolicy == o.?failurePolicy && h.?matchConditions == o.?matchConditions && h.?matchPolicy == o.?matchPolicy && h.?name == o.?name && h.?namespaceSelector == o.?namespaceSelector && h.?objectSelector == o.?objectSelector && h.?reinvocationPolicy == o.?reinvocationPolicy && h.?rules == o.?rules && h.?sideEffects == o.?sideEffects && h.?timeoutSeconds == o.?timeoutSeconds)) && object.metadata.?annotations == oldObject.metadata.?annotations && object.metadata.?finalizers == oldObject.metadata.?finalizers && object.metadata.?labels == oldObject.metadata.?labels && object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences)
      message: who issues certificates changes the caBundle of a webhook configuration and nothing else
      reason: Forbidden
    - expression: request.operation != 'CREATE' || !has(object.metadata.finalizers) && object.metadata.?ownerReferences.orValue([]).all(r, r.kind == 'ClusterRole' && r.name == '{{ .name }}') && (
      message: who issues certificates creates a webhook configuration as it was rendered and no other
      reason: Forbidden
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.policybinding" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: '{{ .name }}-certificates'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  policyName: '{{ .name }}-certificates'
  validationActions:
    - Deny
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.networkpolicy" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: '{{ .name }}-certificates'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: vestibule-certificates
      app.kubernetes.io/instance: '{{ .name }}'
  policyTypes:
    - Ingress
    - Egress
  ingress:
    - ports:
        - protocol: TCP
          port: metrics
  egress:
    - ports:
        - protocol: UDP
          port: 53
        - protocol: TCP
          port: 53
    - ports:
        - protocol: TCP
          port: 443
        - protocol: TCP
          port: 6443
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificates.deployment" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: '{{ .name }}-certificates'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  replicas: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: vestibule-certificates
      app.kubernetes.io/instance: '{{ .name }}'
  template:
    metadata:
      labels:
        app.kubernetes.io/name: vestibule-certificates
        app.kubernetes.io/instance: '{{ .name }}'
    spec:
      automountServiceAccountToken: false
      containers:
        - name: certificates
          image: '{{ .image }}'
          args:
            - certificates
            - --settings=/etc/vestibule/settings.json
            - --registrations=/etc/certificates/registrations.json
            - --metrics-addr=0.0.0.0:8080
          env:
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
          ports:
            - name: metrics
              containerPort: 8080
              protocol: TCP
          livenessProbe:
            httpGet:
              path: /healthz
              scheme: HTTP
              port: metrics
            periodSeconds: 10
          readinessProbe:
            httpGet:
              path: /readyz
              scheme: HTTP
              port: metrics
            periodSeconds: 5
          resources:
            requests:
              cpu: 10m
              memory: 64Mi
            limits:
              memory: 128Mi
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop:
                - ALL
            readOnlyRootFilesystem: true
          volumeMounts:
            - name: settings
              mountPath: /etc/vestibule
              readOnly: true
            - name: registrations
              mountPath: /etc/certificates
              readOnly: true
            - name: token
              mountPath: /var/run/secrets/kubernetes.io/serviceaccount
              readOnly: true
      securityContext:
        runAsGroup: 65532
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: '{{ .name }}-certificates'
      terminationGracePeriodSeconds: 10
      volumes:
        - name: settings
          configMap:
            name: '{{ .name }}-settings'
        - name: registrations
          configMap:
            name: '{{ .name }}-certificates'
        - name: token
          projected:
            sources:
              - serviceAccountToken:
                  path: token
                  expirationSeconds: 3600
              - configMap:
                  name: kube-root-ca.crt
                  items:
                    - key: ca.crt
                      path: ca.crt
              - downwardAPI:
                  items:
                    - path: namespace
                      fieldRef:
                        fieldPath: metadata.namespace
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.authority" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: v1
kind: Secret
metadata:
  name: '{{ .name }}-authority'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.secret" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: v1
kind: Secret
metadata:
  name: '{{ .name }}-tls'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.lease" -}}
{{- if not (or .certManager .serviceCa .ownSecret) }}
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: '{{ .name }}'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.selfsigned" -}}
{{- if .certManager }}
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: '{{ .name }}-selfsigned'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  selfSigned: {}
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.cacertificate" -}}
{{- if .certManager }}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: '{{ .name }}-ca'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  isCA: true
  commonName: '{{ .name }}-ca'
  secretName: '{{ .name }}-ca'
  duration: 87600h
  privateKey:
    algorithm: ECDSA
    size: 256
    rotationPolicy: Always
  issuerRef:
    kind: Issuer
    name: '{{ .name }}-selfsigned'
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.issuer" -}}
{{- if .certManager }}
apiVersion: cert-manager.io/v1
kind: Issuer
metadata:
  name: '{{ .name }}-ca'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  ca:
    secretName: '{{ .name }}-ca'
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.certificate" -}}
{{- if .certManager }}
apiVersion: cert-manager.io/v1
kind: Certificate
metadata:
  name: '{{ .name }}-tls'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  secretName: '{{ .name }}-tls'
  duration: 720h
  renewBefore: 240h
  privateKey:
    algorithm: ECDSA
    size: 256
    rotationPolicy: Always
  dnsNames:
    - '{{ .name }}.{{ .namespace }}.svc'
    - '{{ .name }}.{{ .namespace }}.svc.cluster.local'
  issuerRef:
    kind: Issuer
    name: '{{ .name }}-ca'
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: '{{ .name }}'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  replicas: {{ int .replicas }}
  selector:
    matchLabels:
      app.kubernetes.io/name: vestibule
      app.kubernetes.io/instance: '{{ .name }}'
  strategy:
    type: RollingUpdate
    rollingUpdate:
      maxSurge: 1
      maxUnavailable: 0
  template:
    metadata:
      labels:
        app.kubernetes.io/name: vestibule
        app.kubernetes.io/instance: '{{ .name }}'
    spec:
      automountServiceAccountToken: false
      containers:
        -
          name: webhook
          image: '{{ .image }}'
          args:
            - webhook
            - --settings=/etc/vestibule/settings.json
          env:
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
          ports:
            - name: https
              containerPort: {{ int .port }}
              protocol: TCP
            {{- if .metrics }}
            - name: metrics
              containerPort: {{ int .metricsPort }}
              protocol: TCP
            {{- end }}
          livenessProbe:
            httpGet:
              path: /healthz
              {{- if (not .metrics) }}
              scheme: HTTPS
              {{- else }}
              scheme: HTTP
              {{- end }}
              {{- if (not .metrics) }}
              port: https
              {{- else }}
              port: metrics
              {{- end }}
            periodSeconds: 10
            failureThreshold: 3
          readinessProbe:
            httpGet:
              path: /readyz
              {{- if (not .metrics) }}
              scheme: HTTPS
              {{- else }}
              scheme: HTTP
              {{- end }}
              {{- if (not .metrics) }}
              port: https
              {{- else }}
              port: metrics
              {{- end }}
            periodSeconds: 2
            failureThreshold: 1
          startupProbe:
            httpGet:
              path: /healthz
              {{- if (not .metrics) }}
              scheme: HTTPS
              {{- else }}
              scheme: HTTP
              {{- end }}
              {{- if (not .metrics) }}
              port: https
              {{- else }}
              port: metrics
              {{- end }}
            periodSeconds: 1
            failureThreshold: 60
          resources:
            requests:
              cpu: 100m
              memory: 128Mi
            limits:
              memory: 128Mi
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop:
                - ALL
            readOnlyRootFilesystem: true
          volumeMounts:
            - name: settings
              mountPath: /etc/vestibule
              readOnly: true
            - name: tls
              mountPath: /tls
              readOnly: true
            - name: token
              mountPath: /var/run/secrets/kubernetes.io/serviceaccount
              readOnly: true
            - name: tmp
              mountPath: /tmp
      priorityClassName: system-cluster-critical
      securityContext:
        fsGroup: 65532
        runAsGroup: 65532
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: '{{ .name }}'
      terminationGracePeriodSeconds: {{ int .leaveSeconds }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: vestibule
              app.kubernetes.io/instance: '{{ .name }}'
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: vestibule
              app.kubernetes.io/instance: '{{ .name }}'
      volumes:
        - name: settings
          configMap:
            name: '{{ .name }}-settings'
        -
          name: tls
          secret:
            secretName: '{{ .name }}-tls'
            defaultMode: 288
            {{- if not (or .certManager .serviceCa .ownSecret) }}
            items:
              - key: tls.crt
                path: tls.crt
              - key: tls.key
                path: tls.key
            {{- end }}
        - name: token
          projected:
            sources:
              - serviceAccountToken:
                  path: token
                  expirationSeconds: 3600
              - configMap:
                  name: kube-root-ca.crt
                  items:
                    - key: ca.crt
                      path: ca.crt
              - downwardAPI:
                  items:
                    - path: namespace
                      fieldRef:
                        fieldPath: metadata.namespace
        - name: tmp
          emptyDir:
            medium: Memory
            sizeLimit: 16Mi
{{- end -}}

{{- define "vestibule.native.webhook.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: '{{ .name }}'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
  {{- if .serviceCa }}
  annotations:
    service.beta.openshift.io/serving-cert-secret-name: '{{ .name }}-tls'
  {{- end }}
spec:
  ipFamilyPolicy: PreferDualStack
  ports:
    - name: https
      port: 443
      targetPort: https
      protocol: TCP
    {{- if .metrics }}
    - name: metrics
      port: {{ int .metricsPort }}
      targetPort: metrics
      protocol: TCP
    {{- end }}
  selector:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
{{- end -}}

{{- define "vestibule.native.webhook.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: '{{ .name }}'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app.kubernetes.io/name: vestibule
      app.kubernetes.io/instance: '{{ .name }}'
{{- end -}}

{{- define "vestibule.native.webhook.networkpolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: '{{ .name }}'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: vestibule
      app.kubernetes.io/instance: '{{ .name }}'
  policyTypes:
    - Ingress
    - Egress
  ingress:
    {{- if (not .metrics) }}
    - ports:
        - protocol: TCP
          port: https
    {{- end }}
    {{- if .metrics }}
    - ports:
        - protocol: TCP
          port: https
        - protocol: TCP
          port: metrics
    {{- end }}
  egress:
    - ports:
        - protocol: UDP
          port: 53
        - protocol: TCP
          port: 53
    - ports:
        - protocol: TCP
          port: 443
        - protocol: TCP
          port: 6443
{{- end -}}

{{- define "vestibule.native.webhook.mutating" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata:
  name: '{{ .name }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
  {{- if .certManager }}
  annotations:
    cert-manager.io/inject-ca-from: '{{ .namespace }}/{{ .name }}-tls'
  {{- end }}
  {{- if .serviceCa }}
  annotations:
    service.beta.openshift.io/inject-cabundle: 'true'
  {{- end }}
webhooks:
  -
    name: pods.vestibule.dev
    admissionReviewVersions:
      - v1
    clientConfig:
      service:
        name: '{{ .name }}'
        namespace: '{{ .namespace }}'
        path: /mutate
        port: 443
      {{- if .ownSecret }}
      caBundle: '{{ .caBundle }}'
      {{- end }}
    failurePolicy: '{{ .failurePolicy }}'
    matchConditions:
      - name: not-a-mirror-pod
        expression: '!has(object.metadata.annotations) || !(''kubernetes.io/config.mirror'' in object.metadata.annotations)'
    matchPolicy: Equivalent
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: NotIn
          values:
            - kube-node-lease
            - kube-system
            - '{{ .namespace }}'
    reinvocationPolicy: '{{ .reinvocationPolicy }}'
    rules:
      - apiGroups:
          - ''
        apiVersions:
          - v1
        operations:
          - CREATE
        resources:
          - pods
        scope: Namespaced
    {{- if (not .writes) }}
    sideEffects: None
    {{- else }}
    sideEffects: NoneOnDryRun
    {{- end }}
    timeoutSeconds: {{ int .timeoutSeconds }}
{{- end -}}

{{- define "vestibule.native.webhook.validating" -}}
{{- if (or .sandbox .identityPolicies) }}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: '{{ .name }}'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
  {{- if .certManager }}
  annotations:
    cert-manager.io/inject-ca-from: '{{ .namespace }}/{{ .name }}-tls'
  {{- end }}
  {{- if .serviceCa }}
  annotations:
    service.beta.openshift.io/inject-cabundle: 'true'
  {{- end }}
webhooks:
  {{- if .sandbox }}
  -
    name: sandboxes.vestibule.dev
    admissionReviewVersions:
      - v1
    clientConfig:
      service:
        name: '{{ .name }}'
        namespace: '{{ .namespace }}'
        path: /validate
        port: 443
      {{- if .ownSecret }}
      caBundle: '{{ .caBundle }}'
      {{- end }}
    failurePolicy: Ignore
    matchPolicy: Equivalent
    rules:
      - apiGroups:
          - kataconfiguration.openshift.io
        apiVersions:
          - '*'
        operations:
          - CREATE
          - UPDATE
        resources:
          - kataconfigs
          - oscwebhookconfigs
        scope: Cluster
    sideEffects: None
    timeoutSeconds: {{ int .timeoutSeconds }}
  {{- end }}
  {{- if .identityPolicies }}
  -
    name: policies.vestibule.dev
    admissionReviewVersions:
      - v1
    clientConfig:
      service:
        name: '{{ .name }}'
        namespace: '{{ .namespace }}'
        path: /validate
        port: 443
      {{- if .ownSecret }}
      caBundle: '{{ .caBundle }}'
      {{- end }}
    failurePolicy: Fail
    matchPolicy: Equivalent
    rules:
      - apiGroups:
          - vestibule.dev
        apiVersions:
          - '*'
        operations:
          - CREATE
          - UPDATE
        resources:
          - identitypolicies
        scope: Cluster
    sideEffects: None
    timeoutSeconds: {{ int .timeoutSeconds }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.guard" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: '{{ .name }}-guard'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  failurePolicy: Fail
  matchConstraints:
    matchPolicy: Equivalent
    resourceRules:
      - apiGroups:
          - ''
        apiVersions:
          - v1
        scope: Namespaced
        operations:
          - UPDATE
        resources:
          - pods
          - pods/ephemeralcontainers
          - pods/resize
          - pods/status
      - apiGroups:
          - ''
        apiVersions:
          - v1
        scope: Namespaced
        operations:
          - CREATE
        resources:
          - pods/binding
          - bindings
  validations:
    - expression: request.operation != 'UPDATE' || (object.metadata.?annotations.orValue({})[?'cwii.dev/gcp-credentials'].orValue('') == oldObject.metadata.?annotations.orValue({})[?'cwii.dev/gcp-credentials'].orValue(''))
      message: cwii.dev/gcp-credentials was written at admission and cannot be changed on a pod
      reason: Forbidden
    - expression: request.operation != 'UPDATE' || (object.metadata.?annotations.orValue({})[?'cwii.dev/aws-config'].orValue('') == oldObject.metadata.?annotations.orValue({})[?'cwii.dev/aws-config'].orValue(''))
      message: cwii.dev/aws-config was written at admission and cannot be changed on a pod
      reason: Forbidden
    - expression: request.operation != 'UPDATE' || (object.metadata.?annotations.orValue({})[?'cwii.dev/injected'].orValue('') == oldObject.metadata.?annotations.orValue({})[?'cwii.dev/injected'].orValue(''))
      message: cwii.dev/injected was written at admission and cannot be changed on a pod
      reason: Forbidden
    {{- if .wif }}
    - expression: request.operation != 'UPDATE' || (object.metadata.?annotations.orValue({})[?'{{ .wifPrefix }}/external-credentials-json'].orValue('') == oldObject.metadata.?annotations.orValue({})[?'{{ .wifPrefix }}/external-credentials-json'].orValue(''))
      message: '{{ .wifPrefix }}/external-credentials-json was written at admission and cannot be changed on a pod'
      reason: Forbidden
    {{- end }}
    - expression: request.operation != 'UPDATE' || (object.metadata.?annotations.orValue({}).all(k, !k.startsWith('cwii.dev/gcp-credentials.') || oldObject.metadata.?annotations.orValue({})[?k].orValue('') == object.metadata.?annotations.orValue({})[k]) && oldObject.metadata.?annotations.orValue({}).all(k, !k.startsWith('cwii.dev/gcp-credentials.') || object.metadata.?annotations.orValue({})[?k].orValue('') == oldObject.metadata.?annotations.orValue({})[k]))
      message: cwii.dev/gcp-credentials.* was written at admission and cannot be changed on a pod
      reason: Forbidden
    {{- if (not .wif) }}
    - expression: request.operation != 'CREATE' || object.kind != 'Binding' || object.metadata.?annotations.orValue({}).all(k, !['cwii.dev/gcp-credentials', 'cwii.dev/aws-config', 'cwii.dev/injected', 'cwii.dev/gcp-credentials.'].exists(p, k.startsWith(p)))
      message: a Binding cannot bring annotations that were decided at admission
      reason: Forbidden
    {{- end }}
    {{- if .wif }}
    - expression: request.operation != 'CREATE' || object.kind != 'Binding' || object.metadata.?annotations.orValue({}).all(k, !['cwii.dev/gcp-credentials', 'cwii.dev/aws-config', 'cwii.dev/injected', '{{ .wifPrefix }}/external-credentials-json', 'cwii.dev/gcp-credentials.'].exists(p, k.startsWith(p)))
      message: a Binding cannot bring annotations that were decided at admission
      reason: Forbidden
    {{- end }}
{{- end -}}

{{- define "vestibule.native.webhook.guardbinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: '{{ .name }}-guard'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  policyName: '{{ .name }}-guard'
  validationActions:
    - Deny
{{- end -}}

{{- define "vestibule.native.webhook.final" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: '{{ .name }}-final'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  failurePolicy: Ignore
  paramKind:
    apiVersion: v1
    kind: ServiceAccount
  matchConstraints:
    matchPolicy: Equivalent
    namespaceSelector:
      matchExpressions:
        - key: kubernetes.io/metadata.name
          operator: NotIn
          values:
            - kube-node-lease
            - kube-system
            - '{{ .namespace }}'
    resourceRules:
      - apiGroups:
          - ''
        apiVersions:
          - v1
        operations:
          - CREATE
        resources:
          - pods
        scope: Namespaced
  matchConditions:
    - name: not-a-mirror-pod
      expression: '!has(object.metadata.annotations) || !(''kubernetes.io/config.mirror'' in object.metadata.annotations)'
  variables:
    - name: own
      expression: object.metadata.?annotations.orValue({})
    - name: theirs
      expression: params.metadata.?annotations.orValue({})
    - name: around
      expression: namespaceObject.metadata.?annotations.orValue({})
    - name: concerns
      expression: object.spec.?serviceAccountName.orValue('default') == params.metadata.name
    - name: done
      expression: ''','' + variables.own[?''cwii.dev/injected''].orValue('''') + '','''
    - name: labels
      expression: object.metadata.?labels.orValue({})
    - name: names
      expression: object.spec.containers.map(c, c.?env.orValue([]).map(e, e.name))
{{- end -}}

{{- define "vestibule.native.webhook.finalbinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: '{{ .name }}-final'
  labels:
    app.kubernetes.io/name: vestibule
    app.kubernetes.io/instance: '{{ .name }}'
    app.kubernetes.io/managed-by: vestibule
spec:
  policyName: '{{ .name }}-final'
  paramRef:
    selector: {}
    parameterNotFoundAction: Allow
  validationActions:
    - Warn
{{- end -}}

{{- define "vestibule.native.selfcertificate" -}}
lease: '{{ .name }}'
names:
  - '{{ .name }}.{{ .namespace }}.svc'
  - '{{ .name }}.{{ .namespace }}.svc.cluster.local'
{{- if not (or (not .sandbox) (not (or .sandbox .identityPolicies))) }}
sandboxConfiguration: 00-{{ .name }}-sandbox
{{- end }}
secret: '{{ .name }}-tls'
{{- if (or .sandbox .identityPolicies) }}
validatingConfiguration: '{{ .name }}'
{{- end }}
webhookConfiguration: '{{ .name }}'
{{- end -}}

{{- define "vestibule.native.certificates.fields" -}}
["admissionReviewVersions", "failurePolicy", "matchConditions", "matchPolicy", "name", "namespaceSelector", "objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds"]
{{- end -}}

{{- define "vestibule.native.webhook.crds" -}}
{{- if not (or (not .identityPolicies) (not (or .sandbox .identityPolicies))) }}
- identitypolicies.vestibule.dev
{{- end }}
{{- if not (or (not .sandbox) (not (or .sandbox .identityPolicies))) }}
- kataconfigs.kataconfiguration.openshift.io
{{- end }}
{{- if not (or (not .sandbox) (not (or .sandbox .identityPolicies))) }}
- oscwebhookconfigs.kataconfiguration.openshift.io
{{- end }}
{{- end -}}

{{- define "vestibule.native.final.cwii" -}}
- expression: '!variables.concerns || !(variables.own[?''cwii.dev/gcp-inject''].or(variables.theirs[?''cwii.dev/gcp-inject'']).or(variables.around[?''cwii.dev/gcp-inject'']).orValue('''') == ''true'') || variables.done.contains('',gcp,'')'
  message: 'the pod asks for an identity of Google Cloud (cwii.dev) and has none: the webhook was not called, or left it out; `vestibule explain` says why'
  reason: Forbidden
- expression: '!variables.concerns || !(variables.own[?''cwii.dev/aws-inject''].or(variables.theirs[?''cwii.dev/aws-inject'']).or(variables.around[?''cwii.dev/aws-inject'']).orValue('''') == ''true'') || variables.done.contains('',aws,'')'
  message: 'the pod asks for an identity of AWS (cwii.dev) and has none: the webhook was not called, or left it out; `vestibule explain` says why'
  reason: Forbidden
- expression: '!variables.concerns || !(variables.own[?''cwii.dev/az-inject''].or(variables.theirs[?''cwii.dev/az-inject'']).or(variables.around[?''cwii.dev/az-inject'']).orValue('''') == ''true'') || variables.done.contains('',az,'')'
  message: 'the pod asks for an identity of Azure (cwii.dev) and has none: the webhook was not called, or left it out; `vestibule explain` says why'
  reason: Forbidden
{{- end -}}

{{- define "vestibule.native.final.azwi" -}}
- expression: '!variables.concerns || !(variables.labels[?''azure.workload.identity/use''].orValue('''') == ''true'') || variables.names.exists(n, ''AZURE_FEDERATED_TOKEN_FILE'' in n)'
  message: 'the pod asks for an identity of Azure (azwi) and has none: the webhook was not called, or left it out; `vestibule explain` says why'
  reason: Forbidden
{{- end -}}

{{- define "vestibule.native.final.eks" -}}
- expression: '!variables.concerns || !(''{{ .eksPrefix }}/role-arn'' in variables.theirs) || variables.names.exists(n, ''AWS_WEB_IDENTITY_TOKEN_FILE'' in n)'
  message: 'the pod asks for an identity of AWS (eks) and has none: the webhook was not called, or left it out; `vestibule explain` says why'
  reason: Forbidden
{{- end -}}

{{- define "vestibule.native.final.wif" -}}
- expression: '!variables.concerns || !(''{{ .wifPrefix }}/workload-identity-provider'' in variables.theirs) || variables.names.exists(n, ''GOOGLE_APPLICATION_CREDENTIALS'' in n)'
  message: 'the pod asks for an identity of Google Cloud (wif) and has none: the webhook was not called, or left it out; `vestibule explain` says why'
  reason: Forbidden
{{- end -}}

{{- define "vestibule.native.final.gke" -}}
- expression: '!variables.concerns || !(''iam.gke.io/gcp-service-account'' in variables.theirs) || variables.names.exists(n, ''GOOGLE_APPLICATION_CREDENTIALS'' in n)'
  message: 'the pod asks for an identity of Google Cloud (gke) and has none: the webhook was not called, or left it out; `vestibule explain` says why'
  reason: Forbidden
{{- end -}}

{{- define "vestibule.native.operator.crds" -}}
- vestibulewebhooks.vestibule.dev
- identitypolicies.vestibule.dev
- publishedissuers.vestibule.dev
- kataconfigs.kataconfiguration.openshift.io
- oscwebhookconfigs.kataconfiguration.openshift.io
{{- if or .hostedNamespaces .hostedEverywhere }}
- hostedwebhooks.vestibule.dev
{{- end }}
{{- if .aro }}
- aroclusters.infrastructure.cluster.x-k8s.io
{{- end }}
{{- if .aro }}
- arocontrolplanes.controlplane.cluster.x-k8s.io
{{- end }}
{{- if .aro }}
- aromachinepools.infrastructure.cluster.x-k8s.io
{{- end }}
{{- end -}}

{{- define "vestibule.native.operator.serviceaccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: '{{ .name }}-operator'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
automountServiceAccountToken: false
{{- end -}}

{{- define "vestibule.native.operator.clusterrole" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: '{{ .name }}-operator'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
rules:
  - apiGroups:
      - vestibule.dev
    resources:
      - vestibulewebhooks
    verbs:
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - vestibule.dev
    resources:
      - vestibulewebhooks/status
    verbs:
      - patch
  - apiGroups:
      - rbac.authorization.k8s.io
    resources:
      - clusterrolebindings
      - clusterroles
      - rolebindings
      - roles
    verbs:
      - list
      - watch
  - apiGroups:
      - scheduling.k8s.io
    resources:
      - priorityclasses
    verbs:
      - list
      - watch
  - apiGroups:
      - admissionregistration.k8s.io
    resources:
      - mutatingwebhookconfigurations
      - validatingadmissionpolicies
      - validatingadmissionpolicybindings
      - validatingwebhookconfigurations
    verbs:
      - list
      - watch
  - apiGroups:
      - rbac.authorization.k8s.io
    resources:
      - clusterrolebindings
      - clusterroles
    verbs:
      - create
      - delete
      - get
      - patch
    resourceNames:
      - '{{ .name }}'
      - 00-{{ .name }}-sandbox
      - '{{ .name }}-guard'
      - '{{ .name }}-sandbox-guard'
      - '{{ .name }}-final'
  - apiGroups:
      - scheduling.k8s.io
    resources:
      - priorityclasses
    verbs:
      - create
      - delete
      - get
      - patch
    resourceNames:
      - '{{ .name }}'
      - 00-{{ .name }}-sandbox
      - '{{ .name }}-guard'
      - '{{ .name }}-sandbox-guard'
      - '{{ .name }}-final'
  - apiGroups:
      - admissionregistration.k8s.io
    resources:
      - mutatingwebhookconfigurations
      - validatingadmissionpolicies
      - validatingadmissionpolicybindings
      - validatingwebhookconfigurations
    verbs:
      - create
      - delete
      - get
      - patch
    resourceNames:
      - '{{ .name }}'
      - 00-{{ .name }}-sandbox
      - '{{ .name }}-guard'
      - '{{ .name }}-sandbox-guard'
      - '{{ .name }}-final'
  - apiGroups:
      - ''
    resources:
      - nodes
    verbs:
      - list
  - apiGroups:
      - kataconfiguration.openshift.io
    resources:
      - kataconfigs
      - oscwebhookconfigs
    verbs:
      - list
      - watch
  - apiGroups:
      - node.k8s.io
    resources:
      - runtimeclasses
    verbs:
      - list
      - watch
  - apiGroups:
      - kataconfiguration.openshift.io
    resources:
      - kataconfigs/status
      - oscwebhookconfigs/status
    verbs:
      - patch
  - apiGroups:
      - vestibule.dev
    resources:
      - identitypolicies
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - vestibule.dev
    resources:
      - identitypolicies/status
    verbs:
      - patch
  - apiGroups:
      - rbac.authorization.k8s.io
    resources:
      - rolebindings
      - roles
    verbs:
      - create
      - delete
      - get
      - patch
    resourceNames:
      - '{{ .name }}-initdata'
  - apiGroups:
      - ''
    resources:
      - pods
    verbs:
      - list
  - apiGroups:
      - events.k8s.io
    resources:
      - events
    verbs:
      - create
  {{- if .evictions }}
  - apiGroups:
      - ''
    resources:
      - pods/eviction
    verbs:
      - create
  {{- end }}
  - apiGroups:
      - vestibule.dev
    resources:
      - publishedissuers
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - vestibule.dev
    resources:
      - publishedissuers/status
    verbs:
      - patch
  - nonResourceURLs:
      - /.well-known/openid-configuration
      - /openid/v1/jwks
    verbs:
      - get
  - apiGroups:
      - ''
    resources:
      - namespaces
      - serviceaccounts
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - apps
    resources:
      - daemonsets
      - deployments
      - replicasets
      - statefulsets
    verbs:
      - get
  - apiGroups:
      - batch
    resources:
      - cronjobs
      - jobs
    verbs:
      - get
  - apiGroups:
      - vestibule.dev
    resources:
      - identitypolicies
    verbs:
      - list
  - apiGroups:
      - kataconfiguration.openshift.io
    resources:
      - kataconfigs
      - oscwebhookconfigs
    verbs:
      - list
  - apiGroups:
      - node.k8s.io
    resources:
      - runtimeclasses
    verbs:
      - list
  {{- if .mappingConfigMap }}
  - apiGroups:
      - ''
    resources:
      - configmaps
    resourceNames:
      - '{{ .mappingConfigMap }}'
    verbs:
      - get
  {{- end }}
  {{- if .writes }}
  - apiGroups:
      - ''
    resources:
      - configmaps
    verbs:
      - create
      - patch
  {{- end }}
  - apiGroups:
      - ''
    resources:
      - configmaps
    verbs:
      - get
{{- end -}}

{{- define "vestibule.native.operator.clusterrolebinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: '{{ .name }}-operator'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: '{{ .name }}-operator'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}-operator'
    namespace: '{{ .namespace }}'
{{- end -}}

{{- define "vestibule.native.operator.role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: '{{ .name }}-operator'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
rules:
  - apiGroups:
      - ''
    resources:
      - configmaps
      - secrets
      - serviceaccounts
      - services
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - apps
    resources:
      - deployments
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - policy
    resources:
      - poddisruptionbudgets
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - networking.k8s.io
    resources:
      - networkpolicies
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - cert-manager.io
    resources:
      - certificates
      - issuers
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - discovery.k8s.io
    resources:
      - endpointslices
    verbs:
      - list
      - watch
  - apiGroups:
      - coordination.k8s.io
    resources:
      - leases
    resourceNames:
      - '{{ .name }}-operator'
    verbs:
      - get
      - update
{{- end -}}

{{- define "vestibule.native.operator.rolebinding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: '{{ .name }}-operator'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: '{{ .name }}-operator'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}-operator'
    namespace: '{{ .namespace }}'
{{- end -}}

{{- define "vestibule.native.operator.validatingadmissionpolicy" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: '{{ .name }}-operator'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
spec:
  failurePolicy: Fail
  matchConditions:
    - name: the-operator
      expression: request.userInfo.username == 'system:serviceaccount:{{ .namespace }}:{{ .name }}-operator'
  matchConstraints:
    matchPolicy: Equivalent
    resourceRules:
      - apiGroups:
          - admissionregistration.k8s.io
        apiVersions:
          - v1
        operations:
          - CREATE
          - UPDATE
        resources:
          - mutatingwebhookconfigurations
          - validatingwebhookconfigurations
        scope: Cluster
  validations:
    - expression: object.?webhooks.orValue([]).all(h, h.?rules.orValue([]).all(r, r.apiGroups.all(g, g in ['', 'controlplane.cluster.x-k8s.io', 'infrastructure.cluster.x-k8s.io', 'kataconfiguration.openshift.io', 'vestibule.dev']) && r.resources.all(x, !x.contains('*')) && (!('' in r.apiGroups) || r.resources.all(x, x in ['pods', 'pods/ephemeralcontainers', 'pods/resize', 'pods/status']))))
      message: the operator registers webhooks for pods and kinds of ours alone
      reason: Forbidden
    - expression: object.?webhooks.orValue([]).all(h, h.clientConfig.?service.?namespace.orValue('{{ .namespace }}') == '{{ .namespace }}' && h.clientConfig.?url.orValue('https://').startsWith('https://'))
      message: the operator registers webhooks of its own namespace, or at an https address
      reason: Forbidden
{{- end -}}

{{- define "vestibule.native.operator.validatingadmissionpolicybinding" -}}
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: '{{ .name }}-operator'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
spec:
  policyName: '{{ .name }}-operator'
  validationActions:
    - Deny
{{- end -}}

{{- define "vestibule.native.operator.lease" -}}
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: '{{ .name }}-operator'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
{{- end -}}

{{- define "vestibule.native.operator.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: '{{ .name }}-operator'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
spec:
  replicas: 2
  selector:
    matchLabels:
      app.kubernetes.io/name: '{{ .name }}-operator'
  template:
    metadata:
      labels:
        app.kubernetes.io/name: '{{ .name }}-operator'
    spec:
      containers:
        -
          name: operator
          image: '{{ .image }}'
          args:
            - operator
            - --only={{ .name }}
            - --lease={{ .name }}-operator
            - --metrics-addr=0.0.0.0:8080
            {{- if or .hostedNamespaces .hostedEverywhere }}
            - --hosted
            {{- end }}
            {{- if .hostedEverywhere }}
            - --hosted-all-namespaces
            {{- end }}
            {{- if .hostedNamespaces }}
            {{- range .hostedNamespaces }}
            - --hosted-namespace={{ . }}
            {{- end }}
            {{- end }}
            {{- if .aro }}
            - --aro
            {{- end }}
            {{- if .aro }}
            - --aro-webhook={{ .name }}-operator-aro
            {{- end }}
          env:
            - name: POD_NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
            - name: VESTIBULE_IMAGE
              value: '{{ .image }}'
          ports:
            - name: metrics
              containerPort: 8080
              protocol: TCP
            {{- if .aro }}
            - name: aro
              containerPort: 9443
              protocol: TCP
            {{- end }}
          livenessProbe:
            httpGet:
              path: /healthz
              scheme: HTTP
              port: metrics
            periodSeconds: 10
          readinessProbe:
            httpGet:
              path: /readyz
              scheme: HTTP
              port: metrics
            periodSeconds: 5
          resources:
            requests:
              cpu: 10m
              memory: 96Mi
            limits:
              {{- if .aro }}
              memory: 512Mi
              {{- else if .hostedNamespaces }}
              memory: 512Mi
              {{- else if .hostedEverywhere }}
              memory: 512Mi
              {{- else }}
              memory: 256Mi
              {{- end }}
          volumeMounts:
            - name: tmp
              mountPath: /tmp
          securityContext:
            allowPrivilegeEscalation: false
            capabilities:
              drop:
                - ALL
            readOnlyRootFilesystem: true
      automountServiceAccountToken: true
      volumes:
        - name: tmp
          emptyDir:
            medium: Memory
            sizeLimit: 16Mi
      securityContext:
        runAsGroup: 65532
        runAsNonRoot: true
        runAsUser: 65532
        seccompProfile:
          type: RuntimeDefault
      serviceAccountName: '{{ .name }}-operator'
      terminationGracePeriodSeconds: 10
{{- end -}}

{{- define "vestibule.native.operator.clusterrole-aro" -}}
{{- if .aro }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: '{{ .name }}-operator-aro'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
rules:
  - apiGroups:
      - infrastructure.cluster.x-k8s.io
    resources:
      - aroclusters
    verbs:
      - list
      - patch
      - watch
  - apiGroups:
      - controlplane.cluster.x-k8s.io
    resources:
      - arocontrolplanes
    verbs:
      - list
      - patch
      - watch
  - apiGroups:
      - infrastructure.cluster.x-k8s.io
    resources:
      - aromachinepools
    verbs:
      - list
      - patch
      - watch
  - apiGroups:
      - infrastructure.cluster.x-k8s.io
    resources:
      - aroclusters/status
    verbs:
      - patch
  - apiGroups:
      - controlplane.cluster.x-k8s.io
    resources:
      - arocontrolplanes/status
    verbs:
      - patch
  - apiGroups:
      - infrastructure.cluster.x-k8s.io
    resources:
      - aromachinepools/status
    verbs:
      - patch
  - apiGroups:
      - infrastructure.cluster.x-k8s.io
    resources:
      - aroclusters/finalizers
    verbs:
      - update
  - apiGroups:
      - controlplane.cluster.x-k8s.io
    resources:
      - arocontrolplanes/finalizers
    verbs:
      - update
  - apiGroups:
      - infrastructure.cluster.x-k8s.io
    resources:
      - aromachinepools/finalizers
    verbs:
      - update
  - apiGroups:
      - cluster.x-k8s.io
    resources:
      - clusters
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - cluster.x-k8s.io
    resources:
      - machinepools
    verbs:
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - infrastructure.cluster.x-k8s.io
    resources:
      - azureclusteridentities
    verbs:
      - get
  - apiGroups:
      - ''
    resources:
      - namespaces
    verbs:
      - get
  - apiGroups:
      - ''
    resources:
      - secrets
    verbs:
      - create
      - get
      - patch
  - apiGroups:
      - authorization.azure.com
    resources:
      - roleassignments
    verbs:
      - create
      - delete
      - list
      - patch
      - watch
  - apiGroups:
      - keyvault.azure.com
    resources:
      - vaults
    verbs:
      - create
      - delete
      - list
      - patch
      - watch
  - apiGroups:
      - managedidentity.azure.com
    resources:
      - userassignedidentities
    verbs:
      - create
      - delete
      - list
      - patch
      - watch
  - apiGroups:
      - network.azure.com
    resources:
      - networksecuritygroups
      - virtualnetworks
      - virtualnetworkssubnets
    verbs:
      - create
      - delete
      - list
      - patch
      - watch
  - apiGroups:
      - redhatopenshift.azure.com
    resources:
      - hcpopenshiftclusters
      - hcpopenshiftclustersexternalauths
      - hcpopenshiftclustersnodepools
    verbs:
      - create
      - delete
      - list
      - patch
      - watch
  - apiGroups:
      - resources.azure.com
    resources:
      - resourcegroups
    verbs:
      - create
      - delete
      - list
      - patch
      - watch
  - apiGroups:
      - authorization.k8s.io
    resources:
      - subjectaccessreviews
    verbs:
      - create
  - apiGroups:
      - events.k8s.io
    resources:
      - events
    verbs:
      - create
  - apiGroups:
      - admissionregistration.k8s.io
    resources:
      - validatingwebhookconfigurations
    verbs:
      - create
      - get
      - patch
    resourceNames:
      - '{{ .name }}-operator-aro'
{{- end }}
{{- end -}}

{{- define "vestibule.native.operator.clusterrolebinding-aro" -}}
{{- if .aro }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: '{{ .name }}-operator-aro'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: '{{ .name }}-operator-aro'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}-operator'
    namespace: '{{ .namespace }}'
{{- end }}
{{- end -}}

{{- define "vestibule.native.operator.service-aro" -}}
{{- if .aro }}
apiVersion: v1
kind: Service
metadata:
  name: '{{ .name }}-operator-aro'
  namespace: '{{ .namespace }}'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
spec:
  selector:
    app.kubernetes.io/name: '{{ .name }}-operator'
  ports:
    - name: aro
      port: 443
      targetPort: aro
      protocol: TCP
{{- end }}
{{- end -}}

{{- define "vestibule.native.operator.clusterrole-hosted" -}}
{{- if or .hostedNamespaces .hostedEverywhere }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: '{{ .name }}-operator-hosted'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
rules:
  - apiGroups:
      - vestibule.dev
    resources:
      - hostedwebhooks
    verbs:
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - vestibule.dev
    resources:
      - hostedwebhooks/status
    verbs:
      - patch
  - apiGroups:
      - ''
    resources:
      - secrets
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - ''
    resources:
      - services
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - apps
    resources:
      - deployments
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - policy
    resources:
      - poddisruptionbudgets
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - networking.k8s.io
    resources:
      - networkpolicies
    verbs:
      - create
      - delete
      - get
      - list
      - patch
      - watch
  - apiGroups:
      - discovery.k8s.io
    resources:
      - endpointslices
    verbs:
      - list
      - watch
  - apiGroups:
      - hypershift.openshift.io
    resources:
      - hostedcontrolplanes
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - cluster.x-k8s.io
    resources:
      - clusters
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - apps
    resources:
      - statefulsets
    verbs:
      - get
      - list
      - watch
  - apiGroups:
      - kamaji.clastix.io
    resources:
      - tenantcontrolplanes
    verbs:
      - get
      - list
      - watch
      - update
  - apiGroups:
      - k0smotron.io
    resources:
      - clusters
    verbs:
      - get
      - list
      - watch
      - update
  - apiGroups:
      - controlplane.cluster.x-k8s.io
    resources:
      - kamajicontrolplanes
    verbs:
      - get
      - list
      - watch
      - update
  - apiGroups:
      - controlplane.cluster.x-k8s.io
    resources:
      - kubeadmcontrolplanes
    verbs:
      - get
      - list
      - watch
      - update
  - apiGroups:
      - events.k8s.io
    resources:
      - events
    verbs:
      - create
{{- end }}
{{- end -}}

{{- define "vestibule.native.operator.rolebinding-hosted" -}}
{{- if .hostedNamespaces }}
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: '{{ .name }}-operator-hosted'
  namespace: '{{ .hostedNamespace }}'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: '{{ .name }}-operator-hosted'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}-operator'
    namespace: '{{ .namespace }}'
{{- end }}
{{- end -}}

{{- define "vestibule.native.operator.clusterrolebinding-hosted" -}}
{{- if .hostedEverywhere }}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: '{{ .name }}-operator-hosted'
  labels:
    app.kubernetes.io/name: '{{ .name }}-operator'
    app.kubernetes.io/managed-by: vestibule
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: '{{ .name }}-operator-hosted'
subjects:
  - kind: ServiceAccount
    name: '{{ .name }}-operator'
    namespace: '{{ .namespace }}'
{{- end }}
{{- end -}}

{{- define "vestibule.native.operator.all" -}}
["serviceaccount", "clusterrole", "clusterrolebinding", "role", "rolebinding", "validatingadmissionpolicy", "validatingadmissionpolicybinding", "lease", "deployment", "clusterrole-aro", "clusterrolebinding-aro", "service-aro", "clusterrole-hosted", "rolebinding-hosted", "clusterrolebinding-hosted"]
{{- end -}}

{{- define "vestibule.native.defaults" -}}
{
  "aws": {
    "defaultAudience": "sts.amazonaws.com",
    "enabled": true,
    "verifyImage": "amazon/aws-cli:2.35.4"
  },
  "az": {
    "authorityHosts": [],
    "defaultAudience": "api://AzureADTokenExchange",
    "enabled": true,
    "verifyImage": "mcr.microsoft.com/azure-cli:2.84.0"
  },
  "azwi": {
    "audience": "api://AzureADTokenExchange",
    "authorityHost": "",
    "cloud": "",
    "endpoint": {
      "annotationSuffix": "",
      "audience": "",
      "caConfigMapName": "",
      "caData": "",
      "caLabelSelector": "",
      "caSignerName": "",
      "sniName": "",
      "tokenProxy": ""
    },
    "kubernetesVersion": "",
    "layout": "1.5",
    "legacyMount": "",
    "proxyCpu": "50m",
    "proxyImage": "mcr.microsoft.com/oss/azure/workload-identity/proxy:v1.5.1",
    "proxyInitImage": "mcr.microsoft.com/oss/azure/workload-identity/proxy-init:v1.5.1",
    "proxyLogLevel": "",
    "proxyMemory": "64Mi",
    "requireLabel": true,
    "tenantId": ""
  },
  "eks": {
    "accountId": "",
    "annotationPrefix": "eks.amazonaws.com",
    "awsDefaultRegion": "",
    "containerCredentials": {
      "audience": "pods.eks.amazonaws.com",
      "file": "",
      "fullUri": "http://169.254.170.23/v1/credentials",
      "identities": [],
      "mountPath": "/var/run/secrets/pods.eks.amazonaws.com/serviceaccount",
      "tokenPath": "eks-pod-identity-token",
      "volumeName": "eks-pod-identity-token"
    },
    "mapping": {},
    "mappingConfigMap": "",
    "partition": "aws",
    "sessionNameFromPod": false,
    "stsRegionalEndpoint": false,
    "tokenAudience": "sts.amazonaws.com",
    "tokenExpiration": 86400,
    "tokenMountPath": "/var/run/secrets/eks.amazonaws.com/serviceaccount"
  },
  "exclude": {
    "hostNetwork": false,
    "namespaces": [
      "kube-system",
      "kube-node-lease"
    ]
  },
  "gcp": {
    "allowConfigMapWrites": null,
    "defaultAudience": "",
    "delivery": null,
    "enabled": true,
    "initImage": "busybox:1.38.0",
    "verifyImage": "google/cloud-sdk:572.0.0-slim"
  },
  "identityPolicies": false,
  "install": {
    "apiServers": [],
    "aro": false,
    "aroKinds": [],
    "caBundle": "",
    "certificate": "self",
    "clientCa": "",
    "cpu": "100m",
    "evictions": false,
    "finalCheck": "off",
    "guard": true,
    "hosted": false,
    "hostedAllNamespaces": false,
    "hostedNamespaces": [],
    "image": "vestibule:latest",
    "memory": "128Mi",
    "name": "vestibule",
    "namespace": "vestibule-system",
    "replicas": 2,
    "settings": ""
  },
  "maxTokenExpirationSeconds": 86400,
  "mode": "better",
  "mountRoot": "/var/run/secrets/cwii.dev",
  "nativeAnnotations": false,
  "onForbidden": "fault",
  "onInvalid": "warn",
  "podLimits": {
    "containerKeys": 32,
    "containers": 200,
    "identityValues": 100,
    "listNames": 50,
    "patchBytes": 1000000,
    "unknownKeys": 3,
    "valueLength": 2048
  },
  "policies": [],
  "required": false,
  "sandbox": {
    "enabled": false
  },
  "selfCertificate": {
    "authorityLife": "8760h",
    "leafLife": "720h",
    "lease": "",
    "names": [],
    "overlap": "2m",
    "sandboxConfiguration": "",
    "secret": "",
    "validatingConfiguration": "",
    "webhookConfiguration": ""
  },
  "serving": {
    "addr": "0.0.0.0:8443",
    "audit": true,
    "clientCa": "",
    "clientNames": [],
    "drainSeconds": 5.0,
    "graceSeconds": 20.0,
    "healthAddr": "",
    "logLevel": "info",
    "maxConnections": 1000,
    "maxInflight": 256,
    "metricsAddr": "0.0.0.0:8080",
    "otelEnabled": false,
    "otelEndpoint": "",
    "tlsCert": "/tls/tls.crt",
    "tlsCipherSuites": [],
    "tlsKey": "/tls/tls.key",
    "tlsMinVersion": "1.2"
  },
  "tokenExpirationSeconds": 3600,
  "verify": {
    "cpu": "250m",
    "memory": "512Mi",
    "runAsUser": 65532,
    "timeoutSeconds": 60
  },
  "vocabularies": [
    "cwii"
  ],
  "webhook": {
    "failurePolicy": "Ignore",
    "namespaceSelector": {},
    "objectSelector": {},
    "reinvocationPolicy": "IfNeeded",
    "timeoutSeconds": 5
  },
  "wif": {
    "annotationPrefix": "cloud.google.com",
    "defaultRegion": "",
    "gcloudImage": "gcr.io/google.com/cloudsdktool/google-cloud-cli:stable",
    "iamUrl": "https://iamcredentials.googleapis.com",
    "injectionMode": "",
    "provider": "",
    "setupResources": {},
    "stsUrl": "https://sts.googleapis.com/v1/token",
    "tokenAudience": "sts.googleapis.com",
    "tokenDefaultMode": null,
    "tokenExpirationSeconds": 86400
  }
}
{{- end -}}
