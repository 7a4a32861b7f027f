import { labelSelector, mapOf, text, word, type Body, type Kind } from './grammar.ts';
import type { Random } from './random.ts';

const operations = ['CREATE', 'UPDATE', 'DELETE', 'CONNECT', '*', 'GET'];
const rule = (random: Random): Body => ({
  apiGroups: random.some(['', 'apps', '*'], 2),
  apiVersions: random.some(['v1', '*', ''], 2),
  operations: random.some(operations, 2),
  resources: random.some(['configmaps', '*', '*/*', 'pods/status', 'a/b/c'], 2),
  ...random.optional(0.3, { scope: () => random.pick(['Namespaced', 'Cluster', '*', 'x']) }),
});

const expressions = [
  'true',
  'object.metadata.name == "a"',
  'has(object.data)',
  'object.data.size() > 1',
  'variables.v == 1',
  'request.operation == "CREATE"',
  'oldObject == null',
  'params.data.a == "1"',
  'authorizer.group("").resource("configmaps").check("get").allowed()',
  'unknown.field',
  '1 + 1',
  'object.',
  '',
  '"a"',
];
const expression = (random: Random): string => random.pick(expressions);

const matchConditions = (random: Random): Body[] =>
  random.list(2, () => ({ name: random.pick(['a', 'b', 'A b', '']), expression: expression(random) }));

const namedRule = (random: Random): Body => ({
  ...rule(random),
  ...random.optional(0.2, { resourceNames: () => ['nothing-{{run}}'] }),
});

/** Restricted to objects that no scenario makes, so that one scenario's policy does not decide about another's writes. */
const matchResources = (random: Random): Body => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'nothing-{{run}}' } },
  ...random.optional(0.6, {
    resourceRules: () => random.list(2, () => namedRule(random)),
    excludeResourceRules: () => random.list(1, () => namedRule(random)),
    matchPolicy: () => random.pick(['Exact', 'Equivalent', 'x']),
    objectSelector: () => labelSelector(random),
  }),
});

const variables = (random: Random): Body[] =>
  random.list(2, () => ({ name: random.pick(['v', 'w', 'a-b', '']), expression: expression(random) }));
const paramKind = (random: Random): Body =>
  random.pick([{ apiVersion: 'v1', kind: 'ConfigMap' }, { apiVersion: 'x/y/z', kind: 'ConfigMap' }, { kind: 'A' }, {}]);
const failurePolicy = (random: Random): string => random.pick(['Fail', 'Ignore', 'x']);

const validatingPolicy = (random: Random): Body => ({
  spec: {
    matchConstraints: { resourceRules: [namedRule(random)], ...matchResources(random) },
    ...random.optional(0.6, {
      validations: () =>
        random.list(2, () => ({
          expression: expression(random),
          ...random.optional(0.4, {
            message: () => text(random),
            messageExpression: () => random.pick(['"x"', 'object.metadata.name', '1', 'a.']),
            reason: () => random.pick(['Invalid', 'Forbidden', 'Unauthorized', 'RequestEntityTooLarge', 'x']),
          }),
        })),
      auditAnnotations: () =>
        random.list(1, () => ({ key: word(random), valueExpression: random.pick(['"a"', 'null', '1']) })),
      variables: () => variables(random),
      matchConditions: () => matchConditions(random),
      failurePolicy: () => failurePolicy(random),
    }),
    ...random.optional(0.2, { paramKind: () => paramKind(random) }),
  },
});

const policyBinding =
  (actions: readonly string[]) =>
  (random: Random): Body => ({
    spec: {
      policyName: random.pick(['p-{{run}}', 'p-{{run}}', '', 'A/b']),
      ...(actions.length > 0 ? { validationActions: random.some(actions, 3) } : {}),
      ...random.optional(0.3, {
        matchResources: () => matchResources(random),
        paramRef: () =>
          random.optional(0.6, {
            name: () => 'a',
            namespace: () => 'b',
            selector: () => labelSelector(random),
            parameterNotFoundAction: () => random.pick(['Allow', 'Deny', 'x']),
          }),
      }),
    },
  });

const mutatingPolicy = (random: Random): Body => ({
  spec: {
    matchConstraints: { resourceRules: [namedRule(random)], ...matchResources(random) },
    reinvocationPolicy: random.pick(['Never', 'IfNeeded', 'x']),
    mutations: random.list(2, () =>
      random.pick<Body>([
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}' },
        },
        { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "add", path: "/data", value: {}}]' } },
        { patchType: 'JSONPatch', applyConfiguration: { expression: 'Object{}' } },
        { patchType: 'ApplyConfiguration', applyConfiguration: { expression: expression(random) } },
        { patchType: 'x' },
      ]),
    ),
    ...random.optional(0.4, {
      variables: () => variables(random),
      matchConditions: () => matchConditions(random),
      failurePolicy: () => failurePolicy(random),
      paramKind: () => paramKind(random),
    }),
  },
});

const webhooks =
  (isMutating: boolean) =>
  (random: Random): Body => ({
    webhooks: random.list(2, () => ({
      name: random.pick(['a.example.com', 'b.example.com', 'short', 'A.example.com']),
      clientConfig: random.pick<Body>([
        { url: 'https://example.com/hook' },
        { url: 'http://example.com/hook' },
        { url: 'https://user@example.com/?a=b#c' },
        {},
        { url: ':' },
      ]),
      sideEffects: random.pick(['None', 'NoneOnDryRun', 'Some', 'Unknown']),
      admissionReviewVersions: random.some(['v1', 'v1beta1', 'v2', ''], 3),
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'nothing-{{run}}' } },
      ...random.optional(0.4, {
        rules: () => random.list(2, () => rule(random)),
        failurePolicy: () => failurePolicy(random),
        matchPolicy: () => random.pick(['Exact', 'Equivalent', 'x']),
        objectSelector: () => labelSelector(random),
        timeoutSeconds: () => random.pick([1, 10, 30, 31, 0, -1]),
        matchConditions: () => matchConditions(random),
        ...(isMutating ? { reinvocationPolicy: () => random.pick(['Never', 'IfNeeded', 'x']) } : {}),
      }),
      ...random.optional(0.05, { unknown: () => mapOf(random, 1, () => 1) }),
    })),
  });

const admission = { group: 'admissionregistration.k8s.io', version: 'v1', isNamespaced: false } as const;

export const admissionKinds: readonly Kind[] = [
  {
    ...admission,
    resource: 'validatingadmissionpolicies',
    kind: 'ValidatingAdmissionPolicy',
    hasStatus: true,
    content: validatingPolicy,
  },
  {
    ...admission,
    resource: 'validatingadmissionpolicybindings',
    kind: 'ValidatingAdmissionPolicyBinding',
    content: policyBinding(['Deny', 'Warn', 'Audit', 'x']),
  },
  { ...admission, resource: 'mutatingadmissionpolicies', kind: 'MutatingAdmissionPolicy', content: mutatingPolicy },
  {
    ...admission,
    resource: 'mutatingadmissionpolicybindings',
    kind: 'MutatingAdmissionPolicyBinding',
    content: policyBinding([]),
  },
  {
    ...admission,
    resource: 'validatingwebhookconfigurations',
    kind: 'ValidatingWebhookConfiguration',
    content: webhooks(false),
  },
  {
    ...admission,
    resource: 'mutatingwebhookconfigurations',
    kind: 'MutatingWebhookConfiguration',
    content: webhooks(true),
  },
];
