import { describe, expect, test } from '@jest/globals';
import {
  apiVersionOf,
  asJson,
  fieldErrorBody,
  fieldErrorText,
  FieldPath,
  validateObjectMeta,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { builtInResources } from '../built-in-resources.ts';
import type { ResourceDefinition, StrategyContext } from '../resource-definition.ts';
import { foundErrors } from '../../test/found-errors.ts';

/** Long texts of name rules, written short in the tables below. */
const nameRules: Readonly<Record<string, string>> = {
  '<subdomain>':
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  '<label 1035>':
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
};

const context: StrategyContext = {
  user: { name: 'alice', uid: '', groups: [], extra: {} },
  cluster: 'root' as LogicalClusterName,
  namespace: 'ns',
  now: () => new Date(0),
  dryRun: false,
  warn: () => undefined,
};

function definitionOf(name: string): ResourceDefinition {
  const found = builtInResources().find((definition) => `${apiVersionOf(definition)} ${definition.resource}` === name);
  if (found === undefined) throw new Error(`no definition ${name}`);
  return found;
}

/** What a create does up to its validation. */
function refusals(definition: ResourceDefinition, body: string, cluster = context.cluster): string[] {
  const object = {
    ...(JSON.parse(body) as JsonObject),
    kind: definition.kind,
    apiVersion: apiVersionOf(definition),
  } as unknown as KubeObject;
  object.metadata ??= {};
  if (definition.namespaced) object.metadata.namespace = 'ns';
  definition.schema.decodeTyped(asJson(object));
  definition.schema.applyDefaults(asJson(object));
  definition.strategy.prepareForCreate(context, object);
  const errors = [
    ...validateObjectMeta(object.metadata, {
      namespaced: definition.namespaced,
      validateName: (name) => definition.strategy.validateName(name),
      path: FieldPath.of('metadata'),
      standardFinalizers: definition.strategy.metadataChecks.standardFinalizers,
    }),
    ...foundErrors(definition.strategy.validate({ ...context, cluster }, object)),
  ];
  return errors.map((error) => `${error.field} | ${error.type} | ${fieldErrorBody(error)}`).sort();
}

const inFull = (text: string): string =>
  text.replaceAll(/<(?:qualified|subdomain|label|label 1035)>/g, (name) => nameRules[name] ?? name);

/** Bodies of creates and what Kubernetes 1.36 answered: `<field> | <reason> | <message>` for each cause. */
const recorded: readonly (readonly [string, readonly (readonly [string, readonly string[]])[]])[] = [
  [
    'apiextensions.k8s.io/v1 customresourcedefinitions',
    [
      [
        '{"metadata":{"name":"other.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.name | FieldValueInvalid | Invalid value: "other.g.example.com": must be spec.names.plural+"."+spec.group',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.name | FieldValueInvalid | Invalid value: "widgets.g.example.com": must be spec.names.plural+"."+spec.group',
          'spec.group | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"widgets."},"spec":{"group":"","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.name | FieldValueInvalid | Invalid value: "widgets.": <subdomain>',
          'spec.group | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.Bad_Group.com"},"spec":{"group":"Bad_Group.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.name | FieldValueInvalid | Invalid value: "widgets.Bad_Group.com": <subdomain>',
          'spec.group | FieldValueInvalid | Invalid value: "Bad_Group.com": <subdomain>',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Nope","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        ['spec.scope | FieldValueNotSupported | Unsupported value: "Nope": supported values: "Cluster", "Namespaced"'],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[]}}',
        [
          'spec.versions | FieldValueInvalid | Invalid value: []: must have exactly one version marked as storage version',
          'status.storedVersions | FieldValueInvalid | Invalid value: null: must have at least one stored version',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"V1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'spec.versions[0].name | FieldValueInvalid | Invalid value: "V1": <label 1035>',
          'spec.version | FieldValueInvalid | Invalid value: "V1": <label 1035>',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.name | FieldValueInvalid | Invalid value: "widgets.g.example.com": must be spec.names.plural+"."+spec.group',
          'spec.names.plural | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"Wid_gets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.name | FieldValueInvalid | Invalid value: "widgets.g.example.com": must be spec.names.plural+"."+spec.group',
          'spec.names.plural | FieldValueInvalid | Invalid value: "Wid_gets": <label 1035>',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"Widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        ['spec.names.singular | FieldValueInvalid | Invalid value: "Widget": <label 1035>'],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        ['spec.names.listKind | FieldValueInvalid | Invalid value: "Widget": kind and listKind may not be the same'],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList","categories":["Not ok"]},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        ['spec.names.categories[0] | FieldValueInvalid | Invalid value: "Not ok": <label 1035>'],
      ],
      [
        '{"metadata":{"name":"widgets.x.k8s.io"},"spec":{"group":"x.k8s.io","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.annotations[api-approved.kubernetes.io] | FieldValueRequired | Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.x.k8s.io","annotations":{"api-approved.kubernetes.io":"no url"}},"spec":{"group":"x.k8s.io","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'metadata.annotations[api-approved.kubernetes.io] | FieldValueInvalid | Invalid value: "no url": protected groups must have approval annotation "api-approved.kubernetes.io" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"deprecationWarning":"x"}]}}',
        [
          'spec.versions[0].deprecationWarning | FieldValueInvalid | Invalid value: "x": can only be set for deprecated versions',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"deprecated":true,"deprecationWarning":""}]}}',
        ['spec.versions[0].deprecationWarning | FieldValueInvalid | Invalid value: "": must not be an empty string'],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"conversion":{"strategy":"Webhook"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'spec.conversion.webhookClientConfig | FieldValueRequired | Required value: required when strategy is set to Webhook',
          'spec.conversion.conversionReviewVersions | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"conversion":{"strategy":"Nope"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'spec.conversion.strategy | FieldValueNotSupported | Unsupported value: "Nope": supported values: "None", "Webhook"',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v9"],"clientConfig":{"url":"http://x"}}},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'spec.conversion.webhookClientConfig.url | FieldValueInvalid | Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
          'spec.conversion.conversionReviewVersions | FieldValueInvalid | Invalid value: ["v9"]: must include at least one of v1, v1beta1',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1","v1"],"clientConfig":{"url":"https://x","service":{"name":"a","namespace":"b"}}}},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}',
        [
          'spec.conversion.webhookClientConfig | FieldValueRequired | Required value: exactly one of url or service is required',
          'spec.conversion.conversionReviewVersions[1] | FieldValueInvalid | Invalid value: "v1": duplicate version',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"subresources":{"scale":{}}}]}}',
        [
          'spec.subresources.scale.specReplicasPath | FieldValueRequired | Required value',
          'spec.subresources.scale.statusReplicasPath | FieldValueRequired | Required value',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"subresources":{"scale":{"specReplicasPath":".status.n","statusReplicasPath":".spec.n","labelSelectorPath":"x"}}}]}}',
        [
          'spec.subresources.scale.specReplicasPath | FieldValueInvalid | Invalid value: ".status.n": should be a json path under .spec',
          'spec.subresources.scale.statusReplicasPath | FieldValueInvalid | Invalid value: ".spec.n": should be a json path under .status',
          'spec.subresources.scale.labelSelectorPath | FieldValueInvalid | Invalid value: "x": must be a simple json path starting with .',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"a":{"type":"string"},"o":{"type":"object"}}}}}},"selectableFields":[{"jsonPath":".spec.a"},{"jsonPath":".spec.a"},{"jsonPath":".spec.none"},{"jsonPath":".spec.o"},{"jsonPath":"spec.a"},{"jsonPath":".metadata.name"}]}]}}',
        [
          'spec.selectableFields[1].jsonPath | FieldValueDuplicate | Duplicate value: ".spec.a"',
          'spec.selectableFields[2].jsonPath | FieldValueInvalid | Invalid value: ".spec.none": is an invalid path: does not refer to a valid field',
          'spec.selectableFields[3].jsonPath | FieldValueInvalid | Invalid value: ".spec.o": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
          'spec.selectableFields[4].jsonPath | FieldValueInvalid | Invalid value: "spec.a": is an invalid path: expected [ or . but got: spec',
          'spec.selectableFields[5].jsonPath | FieldValueInvalid | Invalid value: ".metadata.name": is an invalid path: does not refer to a valid field',
        ],
      ],
      [
        '{"metadata":{"name":"widgets.g.example.com"},"spec":{"group":"g.example.com","scope":"Namespaced","names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}}}}}},"selectableFields":[{"jsonPath":".spec.l"},{"jsonPath":".spec.l[0]"},{"jsonPath":""}]}]}}',
        [
          'spec.selectableFields[0].jsonPath | FieldValueInvalid | Invalid value: ".spec.l": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
          'spec.selectableFields[1].jsonPath | FieldValueInvalid | Invalid value: ".spec.l[0]": is an invalid path: array notation is not allowed',
          'spec.selectableFields[2].jsonPath | FieldValueRequired | Required value',
        ],
      ],
    ],
  ],
];

describe.each(recorded)('%s', (name, cases) => {
  test.each(cases)('%s', (body, causes) => {
    expect(refusals(definitionOf(name), body)).toEqual(causes.map(inFull).sort());
  });
});

test('what is made of a bound schema has a name and a group that others may not have', () => {
  const names = { plural: 'pods', singular: 'pod', kind: 'Pod', listKind: 'PodList' };
  const schema = { openAPIV3Schema: { type: 'object' } };
  const body = (annotations: JsonObject): string =>
    JSON.stringify({
      metadata: { name: 'e5b5a8a1-0000-4000-8000-000000000000', annotations },
      spec: { group: '', scope: 'Namespaced', names, versions: [{ name: 'v1', served: true, storage: true, schema }] },
    });
  const definition = definitionOf('apiextensions.k8s.io/v1 customresourcedefinitions');
  const made = body({ 'apis.kcp.io/bound-crd': '' });
  expect(refusals(definition, made, 'system:bound-crds' as LogicalClusterName)).toEqual([]);
  expect(refusals(definition, made)).toEqual([expect.stringContaining('must be spec.names.plural+"."+spec.group')]);
  expect(refusals(definition, body({}), 'system:bound-crds' as LogicalClusterName)).toEqual([
    expect.stringContaining('spec.group | FieldValueRequired'),
  ]);
});

test('the status of a new definition is for the server to say, and only what the server makes with its status keeps it', () => {
  const { strategy } = definitionOf('apiextensions.k8s.io/v1 customresourcedefinitions');
  const given = { acceptedNames: { plural: 'widgets', kind: 'Widget' }, storedVersions: ['v1'] };
  const statusOf = (keepsStatus?: true): unknown => {
    const versions = [{ name: 'v1', served: true, storage: true }];
    const object = { metadata: {}, spec: { versions }, status: given } as unknown as KubeObject;
    strategy.prepareForCreate({ ...context, keepsStatus }, object);
    return object['status'];
  };
  expect(statusOf()).toEqual({
    conditions: null,
    acceptedNames: { plural: '', kind: '' },
    storedVersions: ['v1'],
  });
  expect(statusOf(true)).toEqual(given);
});

test('the status subresource accepts stored versions that an update of the definition rejects', async () => {
  const { strategy, subresources } = definitionOf('apiextensions.k8s.io/v1 customresourcedefinitions');
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
  const object = {
    metadata: { name: 'widgets.g.example.com' },
    spec: {
      group: 'g.example.com',
      scope: 'Namespaced',
      names,
      versions: [{ name: 'v2', served: true, storage: true, schema }],
    },
    status: { acceptedNames: names, storedVersions: ['v1'] },
  } as unknown as KubeObject;
  const status = subresources['status'];
  if (status?.type !== 'object') throw new Error('no status subresource');
  const storedVersions = (errors: readonly { readonly field: string }[]): string[] =>
    errors.map(({ field }) => field).filter((field) => field.startsWith('status.storedVersions'));
  expect(storedVersions(await status.strategy.validateUpdate(context, object, object))).toEqual([]);
  expect(storedVersions(await strategy.validateUpdate(context, object, object))).toEqual([
    'status.storedVersions',
    'status.storedVersions[0]',
  ]);
  // So its finalizer can be removed there.
  const terminating = { ...object, metadata: { ...object.metadata, finalizers: ['example.com/a'] } };
  const finalized = structuredClone({ ...object, spec: {} }) as unknown as KubeObject;
  status.strategy.prepareForUpdate(context, finalized, terminating);
  expect(finalized.metadata.finalizers).toBeUndefined();
  expect(finalized).toMatchObject({ spec: { names } });
});

test('errors of a definition without a name, without versions, and with selectable fields in a schema of an unknown form', async () => {
  const { strategy } = definitionOf('apiextensions.k8s.io/v1 customresourcedefinitions');
  const causes = async (metadata: object, spec: object): Promise<string[]> => {
    const object = { metadata, spec: { group: 'g.example.com', ...spec }, status: {} } as unknown as KubeObject;
    return (await strategy.validate(context, object, [])).map(fieldErrorText);
  };
  const named = await causes({ generateName: 'a-', name: 'a-b' }, { versions: null });
  const required = 'must be spec.names.plural+"."+spec.group';
  expect(named.filter((cause) => cause.startsWith('metadata'))).toEqual([
    `metadata.generateName: Invalid value: "a-": ${required}`,
    `metadata.name: Invalid value: "a-b": ${required}`,
  ]);
  expect(named).toContainEqual(expect.stringContaining('spec.versions: Invalid value: null: must have exactly one'));
  const schema = { openAPIV3Schema: { type: 'object', definitions: { a: {} } } };
  const version = { served: true, storage: false, schema };
  const versions = [
    { ...version, name: 'v1', selectableFields: [{ jsonPath: '.a' }] },
    { ...version, name: 'v2', storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
  ];
  const unnamed = await causes({}, { versions });
  expect(unnamed.filter((cause) => cause.startsWith('metadata'))).toEqual([]);
  expect(unnamed).toContainEqual(
    expect.stringMatching(
      /schema\.openAPIV3Schema: Invalid value: "": OpenAPIV3Schema 'definitions' is not supported$/,
    ),
  );
});
