import { describe, expect, test } from '@jest/globals';
import { apiVersionOf } from '@multiplane/apimachinery';
import { builtInResources } from './built-in-resources.ts';
import type { ResourceDefinition, Subresource } from './resource-definition.ts';

/**
 * Facts of the discovery documents of Kubernetes 1.36, in their order:
 * `<group version> <resource> | <kind> <scope> <singular> | <short names> | <categories> | <verbs>`, then one part for
 * each subresource: `<name> <kind> <verbs>`.
 */
const discovery = [
  'v1 configmaps | ConfigMap Namespaced configmap | cm |  | all',
  'v1 events | Event Namespaced event | ev |  | all',
  'v1 limitranges | LimitRange Namespaced limitrange | limits |  | all',
  'v1 namespaces | Namespace Cluster namespace | ns |  | create delete get list patch update watch | finalize Namespace update | status Namespace get patch update',
  'v1 resourcequotas | ResourceQuota Namespaced resourcequota | quota |  | all | status ResourceQuota get patch update',
  'v1 secrets | Secret Namespaced secret |  |  | all',
  'v1 serviceaccounts | ServiceAccount Namespaced serviceaccount | sa |  | all | token authentication.k8s.io/v1/TokenRequest create',
  'events.k8s.io/v1 events | Event Namespaced event | ev |  | all',
  'authentication.k8s.io/v1 selfsubjectreviews | SelfSubjectReview Cluster selfsubjectreview |  |  | create',
  'authentication.k8s.io/v1 tokenreviews | TokenReview Cluster tokenreview |  |  | create',
  'authorization.k8s.io/v1 localsubjectaccessreviews | LocalSubjectAccessReview Namespaced localsubjectaccessreview |  |  | create',
  'authorization.k8s.io/v1 selfsubjectaccessreviews | SelfSubjectAccessReview Cluster selfsubjectaccessreview |  |  | create',
  'authorization.k8s.io/v1 selfsubjectrulesreviews | SelfSubjectRulesReview Cluster selfsubjectrulesreview |  |  | create',
  'authorization.k8s.io/v1 subjectaccessreviews | SubjectAccessReview Cluster subjectaccessreview |  |  | create',
  'certificates.k8s.io/v1 certificatesigningrequests | CertificateSigningRequest Cluster certificatesigningrequest | csr |  | all | approval CertificateSigningRequest get patch update | status CertificateSigningRequest get patch update',
  'rbac.authorization.k8s.io/v1 clusterrolebindings | ClusterRoleBinding Cluster clusterrolebinding |  |  | all',
  'rbac.authorization.k8s.io/v1 clusterroles | ClusterRole Cluster clusterrole |  |  | all',
  'rbac.authorization.k8s.io/v1 rolebindings | RoleBinding Namespaced rolebinding |  |  | all',
  'rbac.authorization.k8s.io/v1 roles | Role Namespaced role |  |  | all',
  'admissionregistration.k8s.io/v1 mutatingadmissionpolicies | MutatingAdmissionPolicy Cluster mutatingadmissionpolicy |  | api-extensions | all',
  'admissionregistration.k8s.io/v1 mutatingadmissionpolicybindings | MutatingAdmissionPolicyBinding Cluster mutatingadmissionpolicybinding |  | api-extensions | all',
  'admissionregistration.k8s.io/v1 mutatingwebhookconfigurations | MutatingWebhookConfiguration Cluster mutatingwebhookconfiguration |  | api-extensions | all',
  'admissionregistration.k8s.io/v1 validatingadmissionpolicies | ValidatingAdmissionPolicy Cluster validatingadmissionpolicy |  | api-extensions | all | status ValidatingAdmissionPolicy get patch update',
  'admissionregistration.k8s.io/v1 validatingadmissionpolicybindings | ValidatingAdmissionPolicyBinding Cluster validatingadmissionpolicybinding |  | api-extensions | all',
  'admissionregistration.k8s.io/v1 validatingwebhookconfigurations | ValidatingWebhookConfiguration Cluster validatingwebhookconfiguration |  | api-extensions | all',
  'apiextensions.k8s.io/v1 customresourcedefinitions | CustomResourceDefinition Cluster customresourcedefinition | crd,crds | api-extensions | all | status CustomResourceDefinition get patch update',
  'coordination.k8s.io/v1 leases | Lease Namespaced lease |  |  | all',
  'flowcontrol.apiserver.k8s.io/v1 flowschemas | FlowSchema Cluster flowschema |  |  | all | status FlowSchema get patch update',
  'flowcontrol.apiserver.k8s.io/v1 prioritylevelconfigurations | PriorityLevelConfiguration Cluster prioritylevelconfiguration |  |  | all | status PriorityLevelConfiguration get patch update',
];

const allVerbs = 'create delete deletecollection get list patch update watch';
const kubernetes = builtInResources().filter(
  ({ group }) => !group.endsWith('.kcp.io') && group !== 'scopes.multiplane.dev',
);

function line(definition: ResourceDefinition): string {
  const { kind, namespaced, singular, shortNames, categories, subresources } = definition;
  const verbs = definition.verbs.join(' ');
  const parts = [
    `${apiVersionOf(definition)} ${definition.resource}`,
    `${kind} ${namespaced ? 'Namespaced' : 'Cluster'} ${singular}`,
    shortNames.join(','),
    categories.join(','),
    verbs === allVerbs ? 'all' : verbs,
    ...Object.entries(subresources).map(
      ([name, part]) => `${name} ${kindOf(definition, part)} ${part.verbs.join(' ')}`,
    ),
  ];
  return parts.join(' | ');
}

function kindOf(definition: ResourceDefinition, part: Subresource): string {
  return part.type === 'connect' ? `${apiVersionOf(part.kind)}/${part.kind.kind}` : definition.kind;
}

test('resources have the names, verbs, order and subresources of Kubernetes', () => {
  expect(kubernetes.map(line)).toEqual(discovery);
});

describe.each(
  kubernetes.map((definition) => [`${apiVersionOf(definition)} ${definition.resource}`, definition] as const),
)('%s', (_name, definition) => {
  test('has a schema of its own kind', () => {
    expect(definition.schema.source['x-kubernetes-group-version-kind']).toEqual([
      { group: definition.group, version: definition.version, kind: definition.kind },
    ]);
    expect(definition.schema.hash).not.toBe('');
  });

  test('has a cell for every column, even of an empty object', () => {
    const object = { apiVersion: apiVersionOf(definition), kind: definition.kind, metadata: { name: 'x' } };
    const cells = definition.tableConvertor.cells(object, new Date(0));
    expect(cells).toHaveLength(definition.tableConvertor.columns.length);
  });
});

test('events of both groups share one place', () => {
  const prefixes = kubernetes.filter(({ resource }) => resource === 'events').map(({ storage }) => storage?.prefix);
  expect(prefixes).toEqual(['/registry/core/events/', '/registry/core/events/']);
});
