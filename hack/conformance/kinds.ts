import { admissionKinds } from './admission-kinds.ts';
import { oddString } from './odd-values.ts';
import { labelSelector, mapOf, text, word, type Body, type Kind } from './grammar.ts';
import type { Random } from './random.ts';

const base64 = (random: Random): string => random.pick(['', 'YQ==', 'aGVsbG8=', '/+8=']);

const configMap = (random: Random): Body =>
  random.optional(0.5, {
    data: () => mapOf(random, 3, () => text(random)),
    binaryData: () => Object.fromEntries(random.list(2, () => [`bin-${word(random)}`, base64(random)])),
    immutable: () => random.chance(0.4),
  });

const secret = (random: Random): Body =>
  random.weighted<() => Body>([
    [
      5,
      () =>
        random.optional(0.5, {
          data: () => mapOf(random, 3, () => base64(random)),
          stringData: () => mapOf(random, 2, () => text(random)),
          immutable: () => random.chance(0.3),
          type: () => random.pick(['Opaque', 'example.com/x', '']),
        }),
    ],
    [1, () => ({ type: 'kubernetes.io/basic-auth', stringData: random.optional(0.6, { username: () => 'u' }) })],
    [
      1,
      () => ({
        type: 'kubernetes.io/tls',
        stringData: random.optional(0.6, { 'tls.crt': () => 'x', 'tls.key': () => 'y' }),
      }),
    ],
    [
      1,
      () => ({
        type: 'kubernetes.io/dockerconfigjson',
        stringData: { '.dockerconfigjson': random.pick(['{}', 'x', '{"auths":{}}']) },
      }),
    ],
    [1, () => ({ type: 'kubernetes.io/ssh-auth', stringData: random.optional(0.5, { 'ssh-privatekey': () => 'k' }) })],
  ])();

const serviceAccount = (random: Random): Body =>
  random.optional(0.5, {
    secrets: () => random.list(2, () => ({ name: word(random) })),
    imagePullSecrets: () => random.list(2, () => ({ name: word(random) })),
    automountServiceAccountToken: () => random.chance(0.5),
  });

const quantity = (random: Random): unknown =>
  random.pick(['1', '10', '500m', '1Gi', '0', 5, '0.5', '1e3', '1.5Gi', '-1', '1.0001', '0.1m', '1E', 'abc', '']);
const amounts = (random: Random, names: readonly string[]): Body =>
  Object.fromEntries(random.some(names, 3).map((name) => [name, quantity(random)]));
const computeNames = ['cpu', 'memory', 'ephemeral-storage', 'storage', 'hugepages-2Mi', 'example.com/gpu', 'cpus'];

const limitRange = (random: Random): Body => ({
  spec: {
    limits: random.list(2, () => ({
      type: random.pick(['Container', 'Pod', 'PersistentVolumeClaim', 'Other', 'example.com/X']),
      ...random.optional(0.4, {
        max: () => amounts(random, computeNames),
        min: () => amounts(random, computeNames),
        default: () => amounts(random, computeNames),
        defaultRequest: () => amounts(random, computeNames),
        maxLimitRequestRatio: () => amounts(random, computeNames),
      }),
    })),
  },
});

const resourceQuota = (random: Random): Body => ({
  spec: random.optional(0.6, {
    hard: () =>
      amounts(random, [
        'count/configmaps.x',
        'requests.cpu',
        'limits.memory',
        'pods',
        'services.nodeports',
        'count/widgets.example.com',
        'requests.storage',
        'gold.storageclass.storage.k8s.io/requests.storage',
        'requests.example.com/gpu',
        'limits.example.com/gpu',
        'unknown',
        'example.com/x',
      ]),
  }),
});

const time = (random: Random): unknown =>
  random.pick([
    '2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05+02:00',
    '2026-01-02T03:04:05.123Z',
    null,
    '2026-13-02T03:04:05Z',
  ]);
const microTime = (random: Random): unknown =>
  random.pick(['2026-01-02T03:04:05.123456Z', '2026-01-02T03:04:05.000000Z', '2026-01-02T03:04:05Z', null]);

const lease = (random: Random): Body => ({
  spec: random.optional(0.5, {
    holderIdentity: () => text(random),
    leaseDurationSeconds: () => random.pick([1, 15, 0, -1, 2_147_483_647]),
    acquireTime: () => microTime(random),
    renewTime: () => microTime(random),
    leaseTransitions: () => random.pick([0, 1, -1]),
    strategy: () => random.pick(['OldestEmulationVersion', 'example.com/x', 'x']),
    preferredHolder: () => text(random),
  }),
});

const reference = (random: Random): Body => ({
  kind: 'ConfigMap',
  ...random.optional(0.7, {
    apiVersion: () => 'v1',
    name: () => word(random),
    namespace: () => random.pick(['t-{{run}}', 'other']),
    uid: () => 'u',
    fieldPath: () => 'data.a',
  }),
});

const coreEvent = (random: Random): Body => ({
  involvedObject: { ...reference(random), namespace: 't-{{run}}' },
  ...random.optional(0.5, {
    reason: () => word(random),
    message: () => text(random),
    source: () => random.optional(0.5, { component: () => 'c', host: () => 'h' }),
    firstTimestamp: () => time(random),
    lastTimestamp: () => time(random),
    count: () => random.pick([0, 1, 5]),
    type: () => random.pick(['Normal', 'Warning', 'Other']),
    reportingComponent: () => 'example.com/c',
    reportingInstance: () => 'i-1',
    related: () => reference(random),
  }),
});

const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', '*', 'bind', 'GET', ''];
const policyRule = (random: Random): Body =>
  random.weighted<() => Body>([
    [
      6,
      () => ({
        verbs: random.some(verbs, 3),
        apiGroups: random.some(['', 'apps', '*', 'example.com'], 2),
        resources: random.some(['configmaps', 'secrets', '*', 'pods/log', '*/scale'], 2),
        ...random.optional(0.3, { resourceNames: () => random.some(['a', 'b', ''], 2) }),
      }),
    ],
    [
      2,
      () => ({
        verbs: random.some(verbs, 2),
        nonResourceURLs: random.some(['/healthz', '/api/*', '*', '/a/*/b', 'x'], 2),
      }),
    ],
  ])();

const role = (random: Random): Body => ({ rules: random.list(2, () => policyRule(random)) });
const clusterRole = (random: Random): Body => ({
  ...role(random),
  // Seldom: when a controller has written the rules differs from moment to moment.
  ...random.optional(0.03, {
    aggregationRule: () => ({
      // Roles of other scenarios must not be added by a controller.
      clusterRoleSelectors: random.list(2, () => {
        const selector = labelSelector(random);
        return { ...selector, matchLabels: { ...(selector['matchLabels'] as Body | undefined), run: '{{run}}' } };
      }),
    }),
  }),
});

const subject = (random: Random): Body =>
  random.weighted<() => Body>([
    [
      3,
      () => ({
        kind: 'User',
        name: random.pick(['', 'jane', 'ü and 😀', 'two\nlines', '{{run}}']),
        ...random.optional(0.6, { apiGroup: () => 'rbac.authorization.k8s.io' }),
      }),
    ],
    [2, () => ({ kind: 'Group', name: 'example-group', apiGroup: 'rbac.authorization.k8s.io' })],
    [
      3,
      () => ({
        kind: 'ServiceAccount',
        name: word(random),
        ...random.optional(0.7, { namespace: () => word(random) }),
      }),
    ],
    [1, () => ({ kind: 'Robot', name: 'r' })],
  ])();
const binding = (random: Random): Body => ({
  ...random.optional(0.8, { subjects: () => random.list(2, () => subject(random)) }),
  roleRef: {
    apiGroup: random.weighted([
      [8, 'rbac.authorization.k8s.io'],
      [1, ''],
      [1, 'apps'],
    ]),
    kind: random.weighted([
      [5, 'ClusterRole'],
      [3, 'Role'],
      [1, 'Group'],
    ]),
    name: random.pick(['view', 'r-{{run}}', '', 'a/b']),
  },
});

const certificateRequest = (random: Random): Body => ({
  spec: {
    request: random.weighted([
      [6, exampleRequest],
      [1, 'YQ=='],
      [1, ''],
    ]),
    signerName: random.pick([
      'example.com/signer',
      'example.com/other',
      'kubernetes.io/legacy-unknown',
      'x',
      'a/b/c',
      'example.com/A_b',
    ]),
    ...random.optional(0.5, {
      usages: () => random.some(['client auth', 'digital signature', 'server auth', 'any', 'x'], 3),
      expirationSeconds: () => random.pick([600, 599, 3600, 0, -1]),
      groups: () => ['g'],
      username: () => 'somebody',
      extra: () => ({ a: ['b'] }),
    }),
  },
});
const exampleRequest =
  'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQ1l6Q0NBVXNDQVFBd0hqRU5NQXNHQTFVRUF3d0VhbUZ1WlRFTk1Bc0dBMVVFQ2d3RWRHVmhiVENDQVNJdwpEUVlKS29aSWh2Y05BUUVCQlFBRGdnRVBBRENDQVFvQ2dnRUJBTFZzRG1ud3o5NzBGTWtVUjBtQVFvSEhhNGJ2CnlwamJCdk8zUUxWc2JWRlFMV3FQdjR6WjJ4a01HSW9pMUNLNWQxcnZUQkI3NnR4eFhtbTdWSC9oS1J2QnhOdDkKVm5qZ0lmM1VvdVZoZW5RbUR6ZUd0TXVQaVlVcG9Lb25xaVZ1TGtIR0o5cVQ4cjdtN1pPOVRGUnh1eCtneCtMcQpOTGJCejZDZENFK1NuQjBORUQzY1V6YVJ0TXhsdzR1L0kyOVRvOS9abnZ5S0d6cDhSbnlEL1VzTW5OKzVhNkcvCnVEdCs3TmZwaHRCODVBVjFpMy85c1NDMDkyZEZrcmtrSHZGUzVKMmN6MllWN01xT2V0ejVBRlRvZ1A5SWxuT1MKWjFvVEsxdm81bXVTdkV5TTdraTNkMzVRS3hlRkVKSHFkUys3Y2p3Qnd2RVEzZkhxbmZtVU5xdExQNFVDQXdFQQpBYUFBTUEwR0NTcUdTSWIzRFFFQkN3VUFBNElCQVFDaW9RVk1mc1hoa1NQT0oxUENhTGQ2K2NScjlTakR3djIxCnlQbHdkSXpjWDdUeEVTQUF2cytyMUw1UjVMcUJMclE4YXJZWjRmWWNqMjhEbjFwVk5majZSV0RVYVV4NFZMVnMKQWd2Z0wwS2E2Nm5YaFROMVJrRlhzSGtmK3ZJOFh5NEx4NDNIMlNYRWxFd290NkptNkkwN0krYUpFMHRIY3JuZwpVZXJWWDlzaWlGaExUczRuTmpEc1lPRzRyNEJ0SlNnbHpxVUFkcjdxSUgxY3hON3NRM3IzaGNSUGg5T1NabFdCClBLSERZbkhPOE9sSGdSQkNUTU1ab3p1RWM5MElZYUVwdndTM2hmalN6WS8rRVgvMUZUTnJQWGNSb0Q2MGs3aEIKQkFMSXV5aHo5MnFiN2drUE51RVR4YUd2Y0VMeGEydjRLQnpFbTh1TFJUcHpkSUlIdzRZdAotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K';

const core = { group: '', version: 'v1', isNamespaced: true } as const;
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' } as const;

export const kinds: readonly Kind[] = [
  { ...core, resource: 'configmaps', kind: 'ConfigMap', content: configMap },
  { ...core, resource: 'secrets', kind: 'Secret', content: secret },
  { ...core, resource: 'serviceaccounts', kind: 'ServiceAccount', content: serviceAccount },
  { ...core, resource: 'limitranges', kind: 'LimitRange', content: limitRange },
  { ...core, resource: 'resourcequotas', kind: 'ResourceQuota', hasStatus: true, content: resourceQuota },
  { ...core, resource: 'events', kind: 'Event', content: coreEvent },
  {
    group: 'coordination.k8s.io',
    version: 'v1',
    resource: 'leases',
    kind: 'Lease',
    isNamespaced: true,
    content: lease,
  },
  { ...rbac, resource: 'roles', kind: 'Role', isNamespaced: true, content: role },
  { ...rbac, resource: 'rolebindings', kind: 'RoleBinding', isNamespaced: true, content: binding },
  { ...rbac, resource: 'clusterroles', kind: 'ClusterRole', isNamespaced: false, content: clusterRole },
  { ...rbac, resource: 'clusterrolebindings', kind: 'ClusterRoleBinding', isNamespaced: false, content: binding },
  {
    group: 'certificates.k8s.io',
    version: 'v1',
    resource: 'certificatesigningrequests',
    kind: 'CertificateSigningRequest',
    isNamespaced: false,
    hasStatus: true,
    content: certificateRequest,
  },
  ...admissionKinds,
];

/** Labels, annotations, owners and finalizers, mostly valid. */
function metadata(random: Random, name: string): Body {
  return {
    name,
    ...random.optional(0.25, {
      labels: () => mapOf(random, 2, () => random.pick(['a', '', 'b.c', 'x y'])),
      annotations: () => mapOf(random, 2, () => text(random)),
      finalizers: () => random.list(2, () => random.pick(['example.com/a', 'example.com/b', 'orphan', 'x'])),
      ownerReferences: () =>
        random.list(2, () => ({
          // Of a kind that is not served: a garbage collector leaves the object alone.
          apiVersion: 'example.com/v1',
          kind: 'None',
          name: 'owner',
          uid: '12345678-1234-1234-1234-123456789abc',
          ...random.optional(0.3, {
            controller: () => random.chance(0.7),
            blockOwnerDeletion: () => random.chance(0.5),
          }),
        })),
    }),
    ...random.optional(0.04, {
      generateName: () => random.pick(['gen-', 'Gen_', '']),
      namespace: () => random.pick(['t-{{run}}', 'other', '']),
      uid: () => '12345678-1234-1234-1234-123456789abc',
      resourceVersion: () => random.pick(['', '0', '1', 'x']),
      generation: () => random.pick([0, 1, 5]),
      creationTimestamp: () => '2026-01-01T00:00:00Z',
      deletionTimestamp: () => '2026-01-01T00:00:00Z',
      deletionGracePeriodSeconds: () => 5,
      selfLink: () => '/x',
      managedFields: () =>
        random.pick([
          [],
          [{}],
          [{ manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: {} }],
        ]),
    }),
  };
}

const apiVersionOf = ({ group, version }: Pick<Kind, 'group' | 'version'>): string =>
  group === '' ? version : `${group}/${version}`;

/** A valid, complete object. */
export const objectOf = (random: Random, kind: Kind, name: string): Body => ({
  apiVersion: apiVersionOf(kind),
  kind: kind.kind,
  metadata: metadata(random, name),
  ...kind.content(random),
});

/** Where the objects of a kind lie in a scenario: in its one namespace, or beside those of other scenarios. */
export const collectionPath = ({ group, version, resource, isNamespaced }: Kind): string =>
  `${group === '' ? '/api' : `/apis/${group}`}/${version}${isNamespaced ? '/namespaces/t-{{run}}' : ''}/${resource}`;

/** Names of objects; those of cluster-scoped ones belong to the scenario alone. */
export const objectName = (random: Random, { isNamespaced }: Kind): string =>
  random.weighted([
    [12, isNamespaced ? random.pick(['a', 'b']) : random.pick(['a-{{run}}', 'b-{{run}}'])],
    [1, isNamespaced ? oddString(random) : `a-{{run}}${oddString(random)}`],
  ]);
