import { describe, expect, test } from '@jest/globals';
import {
  asJson,
  deepCopy,
  fieldErrorText,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import { builtInResources } from './built-in-resources.ts';
import type { ResourceDefinition, Strategy, StrategyContext } from './resource-definition.ts';
import { foundErrors } from '../test/found-errors.ts';

const context: StrategyContext = {
  user: { name: 'alice', uid: '7', groups: ['a', 'b'], extra: { k: ['v'] } },
  cluster: 'root' as LogicalClusterName,
  namespace: 'ns',
  now: () => new Date('2026-01-02T03:04:05Z'),
  dryRun: false,
  warn: () => undefined,
};
const definitionOf = (resource: string, group = ''): ResourceDefinition =>
  builtInResources().find((definition) => definition.resource === resource && definition.group === group)!;

const objectOf = (definition: ResourceDefinition, body: JsonObject): KubeObject => {
  const object = { apiVersion: definition.version, kind: definition.kind, metadata: { name: 'x' }, ...body };
  definition.schema.decodeTyped(object);
  definition.schema.applyDefaults(object);
  return object;
};

/** A created object, as it is stored. */
function created(definition: ResourceDefinition, body: JsonObject): KubeObject {
  const object = objectOf(definition, body);
  definition.strategy.prepareForCreate(context, object);
  expect(foundErrors(definition.strategy.validate(context, object)).map(fieldErrorText)).toEqual([]);
  definition.strategy.canonicalize(object);
  return object;
}

/** The object after an update through an endpoint, and the errors of that update. */
function updated(
  strategy: Strategy,
  old: KubeObject,
  change: (object: KubeObject) => void,
): { readonly object: KubeObject; readonly errors: string[] } {
  const object = deepCopy<JsonObject>(asJson(old)) as unknown as KubeObject;
  change(object);
  strategy.prepareForUpdate(context, object, old);
  const errors = [
    ...(strategy.validateChange?.(object, old) ?? []),
    ...foundErrors(strategy.validateUpdate(context, object, old)),
  ].map(fieldErrorText);
  strategy.canonicalize(object);
  return { object, errors };
}

function endpoint(definition: ResourceDefinition, name: string): Strategy {
  const part = definition.subresources[name];
  if (part?.type !== 'object') throw new Error(`no ${name}`);
  return part.strategy;
}

describe('a namespace', () => {
  const definition = definitionOf('namespaces');
  const old = created(definition, { metadata: { name: 'x', labels: { 'kubernetes.io/metadata.name': 'other' } } });

  test('begins with its finalizer, its phase and its name as a label', () => {
    expect(old).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'x' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
    expect(definition.strategy.isHeld?.(old)).toBe(true);
  });

  test('keeps finalizers, phase and label in an update', () => {
    const { object } = updated(definition.strategy, old, (changed) => {
      changed['spec'] = { finalizers: ['example.com/x'] };
      changed['status'] = { phase: 'Terminating' };
      changed.metadata.labels = {};
    });
    expect(object).toEqual(old);
  });

  test('gives its finalizers up through finalize', () => {
    const strategy = endpoint(definition, 'finalize');
    const { object, errors } = updated(strategy, old, (changed) => void (changed['spec'] = {}));
    expect(errors).toEqual([]);
    expect(definition.strategy.isHeld?.(object)).toBe(false);
    expect(updated(strategy, old, (changed) => void (changed['spec'] = { finalizers: ['x'] })).errors).toEqual([
      'spec.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });

  test('is terminating while it is deleted, and only then', () => {
    const deleting = deepCopy<JsonObject>(asJson(old)) as unknown as KubeObject;
    definition.strategy.beginDeletion?.(context, deleting);
    expect(deleting['status']).toEqual({ phase: 'Terminating' });
    const status = endpoint(definition, 'status');
    expect(updated(status, old, (changed) => void (changed['status'] = { phase: 'Terminating' })).errors).toEqual([
      'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
    ]);
  });
});

describe('a certificate request', () => {
  const definition = definitionOf('certificatesigningrequests', 'certificates.k8s.io');
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from([0x30, 0]).toString('base64')}\n-----END CERTIFICATE REQUEST-----\n`;
  const old = created(definition, {
    spec: {
      request: Buffer.from(pem).toString('base64'),
      signerName: 'example.com/mine',
      usages: ['client auth'],
      username: 'forged',
      groups: ['forged'],
    },
    status: { conditions: [{ type: 'Approved', status: 'True' }] },
  });
  const approved = { type: 'Approved', status: 'True', reason: 'R', message: 'M' };
  const approval = endpoint(definition, 'approval');

  test('names its author and is not decided', () => {
    expect(old['spec']).toMatchObject({ username: 'alice', uid: '7', groups: ['a', 'b'], extra: { k: ['v'] } });
    expect(old['status']).toEqual({});
  });

  test('is approved through approval, which fills in the times and nothing else', () => {
    const { object, errors } = updated(approval, old, (changed) => {
      changed['status'] = { conditions: [approved], certificate: 'eA==' };
      changed['spec'] = {};
    });
    const time = '2026-01-02T03:04:05Z';
    expect(errors).toEqual([]);
    expect(object['spec']).toEqual(old['spec']);
    expect(object['status']).toEqual({ conditions: [{ ...approved, lastUpdateTime: time, lastTransitionTime: time }] });
  });

  test('cannot be approved through status or undone', () => {
    const decided = updated(approval, old, (changed) => void (changed['status'] = { conditions: [approved] })).object;
    const through = (strategy: Strategy, from: KubeObject, status: JsonObject): string[] =>
      updated(strategy, from, (changed) => void (changed['status'] = status)).errors;
    expect(through(endpoint(definition, 'status'), old, { conditions: [approved] })).toEqual([
      'status.conditions: Forbidden: updates may not add a condition of type "Approved"',
    ]);
    expect(through(approval, decided, {})).toEqual([
      'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
    ]);
    expect(through(endpoint(definition, 'status'), old, { certificate: 'eA==' })).toEqual([
      'status.certificate: Invalid value: "<certificate data>": must contain at least one CERTIFICATE PEM block',
    ]);
  });
});

describe('an event', () => {
  const core = definitionOf('events');
  const modern = definitionOf('events', 'events.k8s.io');

  test('is the same object in both groups', () => {
    const stored = created(core, {
      metadata: { name: 'x', namespace: 'ns' },
      involvedObject: { kind: 'ConfigMap', namespace: 'ns', name: 'c' },
      message: 'm',
      source: { component: 'c' },
      count: 2,
      firstTimestamp: '2026-01-01T00:00:00Z',
    });
    const seen = deepCopy<JsonObject>(asJson(stored)) as unknown as KubeObject;
    modern.converter?.fromStorage(seen);
    const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest } = seen;
    expect(rest).toEqual({
      regarding: { kind: 'ConfigMap', namespace: 'ns', name: 'c' },
      note: 'm',
      deprecatedSource: { component: 'c' },
      deprecatedCount: 2,
      deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
      deprecatedLastTimestamp: null,
      eventTime: null,
    });
    modern.converter?.toStorage(seen);
    expect(seen).toEqual(stored);
  });

  test('of the new group wants a time and none of the old fields', () => {
    const object = objectOf(modern, {
      metadata: { name: 'x', namespace: 'ns' },
      regarding: { namespace: 'ns' },
      deprecatedCount: 1,
    });
    expect(foundErrors(modern.strategy.validate(context, object)).map(fieldErrorText)).toEqual([
      'eventTime: Required value',
      'type: Invalid value: "": has invalid value: ',
      'count: Invalid value: "": needs to be unset',
    ]);
  });

  test('of the new group lets only its series change', () => {
    const old = created(modern, {
      metadata: { name: 'x', namespace: 'ns' },
      regarding: { namespace: 'ns' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      type: 'Normal',
      action: 'A',
      reason: 'R',
      reportingController: 'c',
      reportingInstance: 'i',
    });
    const series = { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' };
    expect(updated(modern.strategy, old, (event) => void (event['series'] = series)).errors).toEqual([]);
    expect(updated(modern.strategy, old, (event) => void (event['note'] = 'other')).errors).toEqual([
      'message: Invalid value: "other": field is immutable',
    ]);
  });

  test('disappears', () => {
    expect([core.strategy.ttlSeconds, modern.strategy.ttlSeconds]).toEqual([3600, 3600]);
    const short = builtInResources({ eventTtlSeconds: 5 }).find(({ resource }) => resource === 'events');
    expect(short?.strategy.ttlSeconds).toBe(5);
  });
});

describe('what is fixed', () => {
  test('the data of an immutable config map', () => {
    const definition = definitionOf('configmaps');
    const old = created(definition, { data: { a: '1' }, immutable: true });
    expect(updated(definition.strategy, old, (map) => void (map['data'] = {})).errors).toEqual([
      'data: Forbidden: field is immutable when `immutable` is set',
    ]);
    expect(updated(definition.strategy, old, (map) => void delete map['immutable']).errors).toEqual([
      'immutable: Forbidden: field is immutable when `immutable` is set',
    ]);
  });

  test('the role of a binding', () => {
    const definition = definitionOf('rolebindings', 'rbac.authorization.k8s.io');
    const old = created(definition, { roleRef: { kind: 'Role', name: 'a' } });
    const { errors } = updated(
      definition.strategy,
      old,
      (binding) => void ((binding['roleRef'] as JsonObject)['name'] = 'b'),
    );
    expect(errors).toEqual([
      'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"b"}: cannot change roleRef',
    ]);
  });

  test('a fraction is refused of what is counted: extended resources, which have a name that a quota may have', () => {
    const definition = definitionOf('resourcequotas');
    const errorsOf = (name: string): string[] => {
      const quota = objectOf(definition, { spec: { hard: { [name]: '1.5' } } });
      return foundErrors(definition.strategy.validate(context, quota)).map(fieldErrorText);
    };
    expect(errorsOf('limits.memory')).toEqual([]);
    expect(errorsOf('example.com/a')).toEqual(['spec.hard[example.com/a]: Invalid value: "1500m": must be an integer']);
    expect(errorsOf('Example.com/A')).toEqual([
      expect.stringContaining(
        'spec.hard[Example.com/A]: Invalid value: "Example.com/A": prefix part a lowercase RFC 1123',
      ),
    ]);
  });

  test('the scopes of a quota, and its status through the quota itself', () => {
    const definition = definitionOf('resourcequotas');
    const old = created(definition, { spec: { hard: { secrets: '1' } } });
    expect(
      updated(
        definition.strategy,
        old,
        (quota) => void (quota['spec'] = { hard: { pods: '1' }, scopes: ['BestEffort'] }),
      ).errors,
    ).toEqual(['spec.scopes: Invalid value: ["BestEffort"]: field is immutable']);
    const status = { hard: { secrets: '1' }, used: { secrets: '1' } };
    expect(updated(definition.strategy, old, (quota) => void (quota['status'] = status)).object['status']).toEqual({});
    expect(
      updated(endpoint(definition, 'status'), old, (quota) => void (quota['status'] = status)).object['status'],
    ).toEqual(status);
  });

  test('mandatory flow control objects', () => {
    const definition = definitionOf('prioritylevelconfigurations', 'flowcontrol.apiserver.k8s.io');
    const old = created(definition, {
      metadata: { name: 'exempt' },
      spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
    });
    expect(
      updated(definition.strategy, old, (level) => void ((level['spec'] as JsonObject)['type'] = 'Limited')).errors,
    ).toEqual([
      "spec.type: Invalid value: \"Limited\": must be 'Exempt' if and only if `name` is 'exempt'",
      'spec.exempt: Forbidden: must be nil if the type is Limited',
      'spec.limited: Required value: must not be empty when type is Limited',
      'spec: Invalid value: {"Type":"Limited","Limited":null,"Exempt":{"NominalConcurrencyShares":0,"LendablePercent":0}}: spec of \'exempt\' except the \'spec.exempt\' field must equal the fixed value',
    ]);
  });

  test('group and plural of a definition, once served also scope and kind', () => {
    const definition = definitionOf('customresourcedefinitions', 'apiextensions.k8s.io');
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const old = created(definition, {
      metadata: { name: 'widgets.g.example.com' },
      spec: {
        group: 'g.example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', kind: 'Widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    expect(old['status']).toEqual({
      conditions: null,
      acceptedNames: { kind: '', plural: '' },
      storedVersions: ['v1'],
    });
    const rescoped = (from: KubeObject): string[] =>
      updated(definition.strategy, from, (crd) => void ((crd['spec'] as JsonObject)['scope'] = 'Cluster')).errors;
    expect(rescoped(old)).toEqual([]);
    const condition = { type: 'Established', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const established = { ...old, status: { ...(old['status'] as JsonObject), conditions: [condition] } };
    expect(rescoped(established)).toEqual(['spec.scope: Invalid value: "Cluster": field is immutable']);

    const { object } = updated(definition.strategy, old, (crd) => {
      const versions = (crd['spec'] as JsonObject)['versions'] as JsonObject[];
      (versions[0] as JsonObject)['storage'] = false;
      versions.push({ name: 'v2', served: true, storage: true, schema });
    });
    expect(object['status']).toMatchObject({ storedVersions: ['v1', 'v2'] });
  });
});

test('a definition that is deleted waits for its objects', () => {
  const definition = definitionOf('customresourcedefinitions', 'apiextensions.k8s.io');
  const crd: KubeObject = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'x' },
  };
  definition.strategy.beginDeletion?.(context, crd);
  expect(crd.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
  expect(crd['status']).toMatchObject({ conditions: [{ type: 'Terminating', status: 'True' }] });
});

test('which kinds answer a delete with the object, and which an update of a missing one creates', () => {
  const names = (choose: (strategy: Strategy) => boolean): string[] =>
    builtInResources()
      .filter(({ strategy, origin }) => origin === 'built-in' && choose(strategy))
      .map(({ resource }) => resource);
  expect(names((strategy) => strategy.returnsDeletedObject)).toEqual([
    'namespaces',
    'resourcequotas',
    'serviceaccounts',
  ]);
  expect(names((strategy) => strategy.allowCreateOnUpdate)).toEqual([
    'events',
    'limitranges',
    'events',
    'clusterrolebindings',
    'clusterroles',
    'rolebindings',
    'roles',
    'leases',
  ]);
});
