import type { GroupResource } from '@multiplane/apimachinery';

/** Groups → resources that every logical cluster has, and that exports may claim without an identity. */
const claimable: Readonly<Record<string, readonly string[]>> = {
  '': ['namespaces', 'configmaps', 'events', 'limitranges', 'resourcequotas', 'secrets', 'serviceaccounts'],
  'admissionregistration.k8s.io': [
    'mutatingwebhookconfigurations',
    'validatingwebhookconfigurations',
    'mutatingadmissionpolicies',
    'mutatingadmissionpolicybindings',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
  ],
  'apiextensions.k8s.io': ['customresourcedefinitions'],
  // Authentication and authorization delegated by a provider that terminates requests of its own (kcp after v0.32).
  'authentication.k8s.io': ['tokenreviews'],
  'authorization.k8s.io': ['subjectaccessreviews', 'localsubjectaccessreviews'],
  'certificates.k8s.io': ['certificatesigningrequests'],
  'coordination.k8s.io': ['leases'],
  'core.kcp.io': ['logicalclusters'],
  'events.k8s.io': ['events'],
  'rbac.authorization.k8s.io': ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'],
};

/** Kinds that are answered and never stored: nothing of them could carry a label. */
export const isReviewResource = ({ group, resource }: GroupResource): boolean =>
  group === 'authentication.k8s.io'
    ? resource === 'tokenreviews' || resource === 'selfsubjectreviews'
    : group === 'authorization.k8s.io';

/** Whether a claim says enough without the identity of an export: whose kind is meant is known. */
export const needsNoIdentity = ({ group, resource }: GroupResource): boolean =>
  group === 'apis.kcp.io' || (Object.hasOwn(claimable, group) && (claimable[group] ?? []).includes(resource));
