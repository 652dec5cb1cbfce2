"""Texts below the fields of the kinds in ``api``; written by scripts/field_docs.py."""

from __future__ import annotations

from typing import Final

# fmt: off
FIELD_DOCS: Final[dict[str, dict[str, str]]] = {
    "AccountMatch": {
        "namespaces": "Names of namespaces.",
        "serviceAccounts": "Names of ServiceAccounts.",
    },
    "AuditSpec": {
        "enabled": "Whether anybody looks.",
        "interval": "Time between two audits, at least 1s; the first comes soon after the start, and one after each outage of the webhook.",  # noqa: E501
        "repair": "Eviction of pods that the webhook missed.",
    },
    "AwsIdentity": {
        "audience": "Audience of the token; empty: the usual one.",
        "region": "Region of containers that name none.",
        "roleArn": "Such as arn:aws:iam::{account}:role/{namespace}-{serviceaccount}.",
    },
    "AwsLimits": {
        "audiences": "Globs of allowed token audiences.",
        "roleArns": "Globs of allowed role ARNs.",
    },
    "AzureIdentity": {
        "audience": "Audience of the token; empty: the usual one.",
        "clientId": "Client id (a GUID) of the application or managed identity.",
        "tenantId": "Tenant id: a GUID or a domain name.",
    },
    "AzureLimits": {
        "audiences": "Globs of allowed token audiences.",
        "clientIds": "Globs of allowed client ids.",
        "tenantIds": "Globs of allowed tenant ids.",
    },
    "CertificateSpec": {
        "authorityLife": "How long a CA of our own lives; its successor is made with a third of that left.",
        "caBundle": "Base64 PEM that the API server verifies us with, for secret; empty: ca.crt of the Secret.",  # noqa: E501
        "leafLife": "How long a serving certificate of our own lives; renewed with a third of that left.",
        "mode": "self: a CA of our own, issued and rotated by the operator. cert-manager, service-ca: issued by cert-manager or by OpenShift. secret: a Secret of yours, <name>-tls.",  # noqa: E501
        "overlap": "How long a new CA of our own is trusted before it signs.",
    },
    "ClassInjection": {
        "defaultRuntimeClass": "The runtime class that they get.",
        "enabled": "Whether pods without a runtime class get one.",
        "excludeNamespaces": "Globs of namespaces whose pods get no class.",
        "namespaceSelector": "Namespaces whose pods get a class; absent: all.",
        "podSelector": "Pods that get a class; absent: all.",
    },
    "ClusterInitialization": {
        "provisioned": "Whether it was ever provisioned; never goes back to false.",
    },
    "ClusterSpec": {
        "controlPlaneEndpoint": "Written from the control plane's status; not for users.",
        "identityRef": "Accepted for older manifests; not used.",
        "resources": "Whole objects of Azure Service Operator: resource group, networks, vault, identities.",
        "subscriptionID": "Accepted for older manifests; not used.",
    },
    "ClusterStatus": {
        "failureDomains": "Failure domains; always empty.",
        "initialization": "First provisioning, as Cluster API reads it.",
        "ready": "Whether all infrastructure is ready (contract v1beta1).",
        "resources": "State of every embedded resource.",
    },
    "ConfidentialSpec": {
        "action": "What happens to an annotation that a tenant set: Replace or Refuse.",
        "namespaces": "Globs.",
        "runtimeClasses": "Globs: the only classes that pods there may have, one of them is a must. None: any class, or none.",  # noqa: E501
    },
    "ControlPlaneEndpoint": {
        "host": "Name or address.",
        "port": "Port of the API server.",
    },
    "ControlPlaneInitialization": {
        "controlPlaneInitialized": "Whether the API server was ever reachable; never goes back to false.",
    },
    "ControlPlaneSpec": {
        "azureEnvironment": "AzurePublicCloud, AzureChinaCloud or AzureUSGovernmentCloud; empty: the first.",
        "identityRef": "The AzureClusterIdentity with which the key of etcd is found or made; without one, name the version of the key yourself.",  # noqa: E501
        "resources": "One HcpOpenShiftCluster, and at most one HcpOpenShiftClustersExternalAuth, as whole objects.",  # noqa: E501
        "subscriptionID": "The subscription of the vault; empty: read from the vault itself.",
    },
    "ControlPlaneStatus": {
        "apiURL": "Address of the API server.",
        "consoleURL": "Address of the web console.",
        "failureMessage": "Terminal error, if any.",
        "id": "Resource id of the cluster in Azure.",
        "initialization": "First initialization, as Cluster API reads it.",
        "ready": "Whether the control plane is ready (contract v1beta1).",
        "resources": "State of every embedded resource.",
        "version": "Version of the control plane.",
    },
    "ControlPlaneTarget": {
        "flavour": "The provider that created it.",
        "name": "Name of its object; for kubeconfig that of the Secret.",
    },
    "FailureDomain": {
        "controlPlane": "Whether control planes may run there.",
        "name": "Name of the failure domain.",
    },
    "GcpIdentity": {
        "provider": "//iam.googleapis.com/projects/…/providers/….",
        "serviceAccount": "E-mail address; empty: access without impersonation.",
    },
    "GcpLimits": {
        "audiences": "Globs of allowed token audiences.",
        "providers": "Globs of allowed workload identity providers.",
        "serviceAccounts": "Globs of service account e-mail addresses that may be impersonated.",
    },
    "HostedWebhookSpec": {
        "abandonAfter": "How long the hosted cluster may be unreachable before a deletion continues without cleaning it up; an upgrade of a single replica takes less than ten minutes.",  # noqa: E501
        "attach": "How the webhook is attached to the API server.",
        "credential": "How the webhook authenticates to the hosted cluster: with a token that is requested there and renewed, or with a client certificate of its signer, whose Secret must be readable. Static pods use a certificate.",  # noqa: E501
        "environment": "Name of the Azure cloud; empty: the control plane's own.",
        "failurePolicy": "What happens to pods while the webhook is down.",
        "image": "Image of the webhook; empty: the operator's own.",
        "paused": "Look, and write nothing but the status.",
        "program": "Whose place is taken: the webhook of Azure Workload Identity, or that of EKS.",
        "region": "The AWS region of containers that name none.",
        "replicas": "Of a Deployment of our own.",
        "server": "Address of the hosted cluster's API server for the operator and the webhook, if they cannot use the one in the kubeconfig or the Service of the control plane.",  # noqa: E501
        "target": "The control plane.",
        "tenantId": "The Azure tenant of accounts that name none; empty: the control plane's own.",
        "url": "https://HOST:PORT that leads to the replicas, where the API server cannot resolve their Service.",  # noqa: E501
    },
    "IdentityPolicy": {
        "envFrom": "What happens to a container that sees a token and has envFrom, whose variables could name an identity that is unknown at admission; applies where the policy is locked or has limits.",  # noqa: E501
        "identities": "Identities that these accounts get.",
        "limits": "Identities that these accounts may ask for; absent: any.",
        "locked": "Whether the identities given here beat every annotation.",
        "match": "ServiceAccounts that the policy applies to.",
        "name": "Name of the policy; for an object, its own.",
        "priority": "Of several policies that give an identity of one cloud the highest counts, then the first by name.",  # noqa: E501
        "variables": "Values for the names in braces.",
    },
    "InitdataReference": {
        "key": "Key that holds the initdata.",
        "name": "Name of the ConfigMap.",
        "namespace": "Namespace of the ConfigMap.",
    },
    "KataAnnotations": {
        "cocoRuntimeClasses": "Classes that get initdata; globs.",
        "custom": "Further annotations of Kata pods.",
        "defaultVCPUs": "Number of vCPUs of the virtual machine (annotation default_vcpus).",
        "excludeNamespaces": "Globs of namespaces whose pods are not annotated.",
        "initdata": "Initdata of confidential pods, as the value of the annotation.",
        "initdataAnnotationKey": "runtime for Kata before 3.20.",
        "initdataFrom": "ConfigMap that holds the initdata.",
        "memoryOverheadMB": "MiB, 1 to 2048; 350 where the field is absent.",
        "overwritePolicy": "Whether existing annotations of a pod are overwritten.",
    },
    "KataWebhookSpec": {
        "annotations": "Annotations of Kata pods.",
        "enabled": "Whether pods are mutated at all.",
        "enforce": "Namespaces with confidential pods.",
        "failurePolicy": "failurePolicy of the webhook configuration for sandboxes.",
        "resourceMode": "How peer pods lose their resources; default Zero, and Strip in strict.",
        "runtimeClassInjection": "Runtime class of pods without one.",
        "runtimeProfiles": "What the nodes of a runtime class accept, by class.",
    },
    "LabelRequirement": {
        "key": "Key of the label.",
        "operator": "In, NotIn, Exists or DoesNotExist.",
        "values": "Values for In and NotIn.",
    },
    "LabelSelector": {
        "matchExpressions": "Requirements; all of them must hold.",
        "matchLabels": "Labels that must have these values.",
    },
    "MachinePoolSpec": {
        "providerIDList": "The nodes there are; not for users.",
        "resources": "One HcpOpenShiftClustersNodePool, as a whole object.",
    },
    "MachinePoolStatus": {
        "failureMessage": "Terminal error, if any.",
        "id": "Resource id of the node pool in Azure.",
        "initialization": "First provisioning, as Cluster API reads it.",
        "provisioningState": "Provisioning state in Azure.",
        "ready": "Whether the node pool is ready (contract v1beta1).",
        "replicas": "Number of nodes.",
        "resources": "State of every embedded resource.",
        "version": "Version of the nodes.",
    },
    "ObjectReference": {
        "apiVersion": "API version of the object.",
        "fieldPath": "Path inside the object; not used.",
        "kind": "Kind of the object.",
        "name": "Name of the object.",
        "namespace": "Empty: that of the object.",
        "resourceVersion": "Resource version; not used.",
        "uid": "Uid of the object.",
    },
    "PolicyIdentities": {
        "aws": "Identity on AWS.",
        "az": "Identity in Azure.",
        "gcp": "Identity on Google Cloud.",
    },
    "PolicyLimits": {
        "aws": "Limits on AWS.",
        "az": "Limits in Azure.",
        "clouds": "Clouds that may be asked for at all.",
        "gcp": "Limits on Google Cloud.",
        "images": "Images of containers that the webhook adds.",
    },
    "PublishedIssuerSpec": {
        "interval": "Time between two checks, at least 1s.",
        "issuer": "Expected issuer; empty: the cluster's. Another one is refused and reported.",
        "paused": "Leave what is published as it is.",
        "retention": "How long a key stays published after the cluster stopped to show it: the longest life of a token, and an hour. At least 10m.",  # noqa: E501
        "shape": "Where the keys are below the issuer: openid/v1/jwks for azure, else keys.json.",
        "to": "Where: dir:PATH, azblob:ACCOUNT/CONTAINER[/PREFIX], s3://BUCKET[/PREFIX] or gs://BUCKET[/PREFIX]; the operator's own login must be allowed to read and write there.",  # noqa: E501
        "verify": "Whether the public address is read as a cloud does it; Auto: but for a directory.",
    },
    "RepairSpec": {
        "jobs": "Whether pods of Jobs may be evicted, too: they begin their work again.",
        "mode": "Evict: evict pods that a controller recreates, within disruption budgets, one pod of a workload at a time; eviction stops when a replacement lacks the same again. DryRun: only report. Both need install.evictions in the settings with which the operator was rendered.",  # noqa: E501
        "perMinute": "Evictions in a minute, at most.",
    },
    "ReplicaResources": {
        "cpu": "Request; there is no CPU limit, because throttling shows as latency of every pod creation.",
        "memory": "Request and limit.",
    },
    "RequiredSecret": {
        "key": "The key that must be there.",
        "secret": "Name of the Secret, in the operator's namespace.",
    },
    "ResourceId": {
        "group": "API group.",
        "kind": "Kind.",
        "name": "Name.",
        "version": "API version.",
    },
    "ResourceStatus": {
        "message": "Message of its Ready condition.",
        "observedGeneration": "Generation that its Ready condition describes.",
        "ready": "Whether its Ready condition is True for its present generation.",
        "reason": "Reason of its Ready condition.",
        "resource": "The embedded resource.",
        "severity": "Severity of its Ready condition: Error, Warning or Info.",
    },
    "RuleMatch": {
        "namespaceSelector": "Labels of the namespace.",
        "namespaces": "Globs; none: all.",
        "podSelector": "Labels of the pod.",
        "runtimeClasses": "None: every Kata class.",
    },
    "RuleMutation": {
        "annotations": "Annotations to add.",
        "labels": "Labels to add.",
        "runtimeClassName": "Runtime class of pods without one.",
    },
    "RuntimeProfile": {
        "enableAnnotations": "enable_annotations of the runtime configuration: regular expressions over annotation names.",  # noqa: E501
        "runtime": "Implementation of the Kata runtime: go or rs.",
    },
    "SandboxRule": {
        "match": "Pods that the rule applies to.",
        "mutate": "What the rule changes.",
        "name": "Name of the rule, unique in its list.",
    },
    "VestibuleWebhookSpec": {
        "audit": "Periodic check of running pods for identities and sandboxes that they lack.",
        "certificate": "Source of the serving certificate.",
        "failurePolicy": "Ignore: pods start without identity while we are down. Fail: they do not start.",
        "finalCheck": "What happens to a pod that asked for an identity and has none at the end of admission; this holds while the webhook is down, too.",  # noqa: E501
        "guard": "What happens to a change of the annotations that we wrote on a running pod.",
        "image": "Image of the webhook; pin a digest in production. Empty: the operator's own.",
        "paused": "Leave everything as it is.",
        "priorityClassName": "Priority class of the replicas; empty: one is made, above all but the system's own.",  # noqa: E501
        "replicas": "Every replica serves; empty: 2, or 1 without a disruption budget on a cluster of a single node.",  # noqa: E501
        "requires": "A Secret that must exist before anything is installed.",
        "resources": "Requests and limits of a replica.",
        "settings": "Settings of the webhook, as in its settings file; without install and selfCertificate.",
        "target": "How the API server reaches the webhook.",
    },
    "WebhookTarget": {
        "type": "Service: the one that is made. Url: an address of yours that leads to the replicas.",
        "url": "https://HOST:PORT, for Url; the certificate is made for this host, too.",
    },
    "_KataSpec": {
        "enablePeerPods": "Whether peer pods are used.",
        "webhook": "Settings of the admission webhook.",
    },
    "_RuleSetSpec": {
        "rules": "Rules in the order in which they are applied.",
    },
}
# fmt: on
