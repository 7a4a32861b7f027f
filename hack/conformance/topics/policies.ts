import type { Step } from '../../../e2e/conformance/scenario.ts';
import type { Body } from '../grammar.ts';
import type { Random } from '../random.ts';
import { createNamespace, namespacePath, type Topic } from '../topic.ts';

const admission = '/apis/admissionregistration.k8s.io/v1';

const expressions = [
  'object.data.a == "1"',
  'has(object.data) && object.data.a != "2"',
  '!has(object.metadata.labels)',
  'size(object.data) < 2',
  'object.metadata.name.startsWith("a")',
  'oldObject == null || oldObject.data == object.data',
  'request.operation != "DELETE"',
  'request.name == "a"',
  'request.userInfo.username == "admin"',
  'namespaceObject.metadata.name == request.namespace',
  'variables.v',
  'params == null || params.data.a == object.data.a',
  'authorizer.requestResource.check("get").allowed()',
  'object.data["x"] == "1"',
  'object.data.all(k, k != "b")',
  'int(object.data.a) > 0',
  'object.metadata.annotations["x"].matches("^a")',
];

const mutations = [
  'Object{metadata: Object.metadata{labels: {"p": "1"}}}',
  'Object{data: {"added": "x"}}',
  'has(object.data) ? Object{data: {"a": "changed"}} : Object{}',
  'Object{data: object.data.map(k, k)}',
  'Object{metadata: Object.metadata{name: "other"}}',
  'Object{kind: "Other"}',
  'Object{unknown: 1}',
];
const jsonPatches = [
  '[JSONPatch{op: "add", path: "/metadata/labels", value: {"p": "2"}}]',
  '[JSONPatch{op: "remove", path: "/data/a"}]',
  '[JSONPatch{op: "test", path: "/data/a", value: "1"}, JSONPatch{op: "replace", path: "/data/a", value: "9"}]',
  '[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("x/y"), value: "z"}]',
  '[]',
];

const constraints = (random: Random): Body => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 't-{{run}}' } },
  resourceRules: [
    {
      apiGroups: [''],
      apiVersions: ['v1'],
      resources: ['configmaps'],
      operations: random.pick([['CREATE', 'UPDATE'], ['*'], ['UPDATE'], ['DELETE', 'CREATE']]),
    },
  ],
  ...random.optional(0.1, { objectSelector: () => ({ matchLabels: { a: 'b' } }) }),
});

const common = (random: Random): Body =>
  random.optional(0.25, {
    failurePolicy: () => random.pick(['Fail', 'Ignore']),
    matchConditions: () => [{ name: 'c', expression: random.pick(expressions) }],
  });
const variables = [{ name: 'v', expression: 'has(object.data)' }];

function validating(random: Random): Body {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'p-{{run}}' },
    spec: {
      matchConstraints: constraints(random),
      variables,
      validations: [0, ...random.list(1, () => 1)].map(() => ({
        expression: random.pick(expressions),
        ...random.optional(0.4, {
          message: () => 'refused',
          messageExpression: () => random.pick(['"name " + object.metadata.name', 'object.data.none', '""', '"a\\nb"']),
          reason: () => random.pick(['Invalid', 'Forbidden', 'Unauthorized', 'RequestEntityTooLarge']),
        }),
      })),
      ...common(random),
    },
  };
}

function mutating(random: Random): Body {
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingAdmissionPolicy',
    metadata: { name: 'p-{{run}}' },
    spec: {
      matchConstraints: constraints(random),
      variables,
      reinvocationPolicy: random.pick(['Never', 'IfNeeded']),
      mutations: [0, ...random.list(1, () => 1)].map(() =>
        random.chance(0.6)
          ? { patchType: 'ApplyConfiguration', applyConfiguration: { expression: random.pick(mutations) } }
          : { patchType: 'JSONPatch', jsonPatch: { expression: random.pick(jsonPatches) } },
      ),
      ...common(random),
    },
  };
}

const configMap = (random: Random, name: string): Body => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...random.optional(0.3, { labels: () => ({ a: 'b' }), annotations: () => ({ x: 'ab' }) }) },
  ...random.optional(0.85, {
    data: () => random.pick<Body>([{ a: '1' }, { a: '2' }, { a: '1', b: '2' }, { x: '1' }, { a: 'x' }, {}]),
  }),
});

/** Validating and mutating policies that decide about writes of config maps. */
export const policies: Topic = {
  name: 'policies',
  steps(random) {
    const isMutating = random.chance(0.45);
    const kind = isMutating ? 'Mutating' : 'Validating';
    const resource = `${kind.toLowerCase()}admissionpolicies`;
    const bindings = `${kind.toLowerCase()}admissionpolicybindings`;
    const maps = `${namespacePath}/configmaps`;
    const steps: Step[] = [
      createNamespace,
      { method: 'POST', path: maps, body: { ...configMap(random, 'b'), data: { a: '1' } } },
      {
        method: 'POST',
        path: `${admission}/${resource}`,
        body: isMutating ? mutating(random) : validating(random),
        ignore: ['/status'],
      },
      {
        method: 'POST',
        path: `${admission}/${bindings}`,
        body: {
          apiVersion: 'admissionregistration.k8s.io/v1',
          kind: `${kind}AdmissionPolicyBinding`,
          metadata: { name: 'p-{{run}}' },
          spec: {
            policyName: 'p-{{run}}',
            ...(isMutating
              ? {}
              : {
                  validationActions: random.pick([['Deny'], ['Deny'], ['Warn'], ['Deny', 'Audit'], ['Audit', 'Warn']]),
                }),
          },
        },
      },
      // Policies reach the admission chain through informers, in kube-apiserver within two seconds.
      { pause: 2500, path: '' },
    ];
    for (let count = 5 + random.int(5); count > 0; count--) {
      const name = random.pick(['a', 'b', 'ab']);
      steps.push(
        random.weighted<() => Step>([
          [4, () => ({ method: 'POST', path: maps, body: configMap(random, name) })],
          [2, () => ({ method: 'PUT', path: `${maps}/${name}`, body: configMap(random, name) })],
          [
            2,
            () => ({
              method: 'PATCH',
              path: `${maps}/${name}`,
              headers: { 'content-type': 'application/merge-patch+json' },
              body: { data: { a: random.pick(['1', '2', null]) } },
            }),
          ],
          [1, () => ({ method: 'DELETE', path: `${maps}/${name}` })],
          [
            1,
            () => ({
              method: 'PATCH',
              path: `${maps}/${name}?fieldManager=m`,
              headers: { 'content-type': 'application/apply-patch+yaml' },
              body: configMap(random, name),
            }),
          ],
        ])(),
      );
    }
    steps.push(
      { method: 'DELETE', path: `${admission}/${bindings}/p-{{run}}`, only: [] },
      { method: 'DELETE', path: `${admission}/${resource}/p-{{run}}`, only: [] },
    );
    return steps;
  },
};
