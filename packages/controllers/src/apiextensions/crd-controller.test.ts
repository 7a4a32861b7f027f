import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { GroupVersionResource, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import { apiBindings, boundDefinitionsCluster, definingObject, resourceBindingsAnnotation } from '@multiplane/apis';
import { ObjectFaults, silentLogger } from '@multiplane/component-base';
import { FakeClock, advanceUntilIdle } from '@multiplane/testing';
import type { Controller } from '../runtime/controller.ts';
import { FakeApi } from '../../test/fake-api.ts';
import { delayInitialList } from '../../test/delayed-initial-list.ts';
import { logicalClusters } from '../tenancy/kinds.ts';
import { crdController } from './crd-controller.ts';
import { crds, type CustomResourceDefinition } from './crd-names.ts';

const cluster = 'consumer' as LogicalClusterName;
const widgets: GroupVersionResource = { group: 'example.dev', version: 'v1', resource: 'widgets' };
const at = (name: string) => ({ cluster, namespace: '', name });
const names = (plural: string, kind: string) => ({
  plural,
  singular: kind.toLowerCase(),
  kind,
  listKind: `${kind}List`,
});
const definition = (plural: string, kind: string, metadata: object = {}): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.dev`, ...metadata },
  spec: { group: 'example.dev', names: names(plural, kind), scope: 'Namespaced', versions: [] },
});
const logicalCluster = (locks: string): KubeObject => ({
  apiVersion: 'core.kcp.io/v1alpha1',
  kind: 'LogicalCluster',
  metadata: { name: 'cluster', annotations: { [resourceBindingsAnnotation]: locks } },
});
const locked = '{"widgets.example.dev":{"n":"things"}}';

let api: FakeApi;
let clock: FakeClock;
let controller: Controller;
let faults: ObjectFaults;
function start(informers = api.informers): void {
  controller = crdController(
    { builtInNames: () => ({ resources: new Set(), kinds: new Set() }) },
    { informers, client: api.client, clock, logger: silentLogger, faults },
  );
  void controller.start();
}
beforeEach(() => {
  api = new FakeApi();
  clock = new FakeClock();
  faults = new ObjectFaults({});
  start();
  // A binding with widgets.
  api.put(crds, boundDefinitionsCluster as LogicalClusterName, {
    ...definition('widgets', 'Widget'),
    metadata: { name: 'schema' },
    status: { acceptedNames: names('widgets', 'Widget') },
  });
  api.put(apiBindings, cluster, {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: 'things' },
    status: { boundResources: [{ group: 'example.dev', resource: 'widgets', schema: { UID: 'schema' } }] },
  });
  api.put(logicalClusters, cluster, logicalCluster(locked));
});
afterEach(() => controller.stop());
const settled = (): Promise<void> => advanceUntilIdle(clock, 100, [controller]);
const conditionsOf = (name: string): Record<string, string> =>
  Object.fromEntries(
    (api.get<CustomResourceDefinition>(crds, cluster, name)?.status?.conditions ?? []).map(
      ({ type, status, reason, message }) => [type, `${status} ${reason ?? ''}: ${message ?? ''}`],
    ),
  );

describe('a CRD of which something is not served', () => {
  const hats = (columns: readonly string[]): KubeObject => {
    const additionalPrinterColumns = columns.map((jsonPath) => ({ name: 'C', type: 'string', jsonPath }));
    const crd = definition('hats', 'Hat', { annotations: { 'kcp.io/cluster': cluster } });
    return { ...crd, spec: { ...(crd['spec'] as object), versions: [{ name: 'v1', additionalPrinterColumns }] } };
  };
  const degraded = (): string | undefined => conditionsOf('hats.example.dev')['Degraded'];

  test('names columns that cannot be parsed, as long as it has them', async () => {
    api.put(crds, cluster, hats(['.spec.a[]', '.spec.a[']));
    await settled();
    expect(degraded()).toBe(
      'True InvalidJSONPath: version "v1": column "C" is left out: unrecognized column definition ".spec.a[": unterminated array',
    );
    expect(conditionsOf('hats.example.dev')['Established']).toMatch(/^True/);
    const stored = api.get<CustomResourceDefinition>(crds, cluster, 'hats.example.dev') as unknown as KubeObject;
    api.put(crds, cluster, { ...stored, spec: hats(['.spec.a'])['spec'] });
    await settled();
    expect(degraded()).toBeUndefined();
  });

  test('names a failure that is found after its status was written, for the state that failed', async () => {
    api.put(crds, cluster, hats([]));
    await settled();
    expect(degraded()).toBeUndefined();
    const stored = api.get<CustomResourceDefinition>(crds, cluster, 'hats.example.dev') as unknown as KubeObject;
    faults.report(definingObject(stored), new Error('cannot be served'));
    await settled();
    expect(degraded()).toBe('True EvaluationFailed: cannot be served');
    const failed = api.get<CustomResourceDefinition>(crds, cluster, 'hats.example.dev') as unknown as KubeObject;
    const generation = (failed.metadata.generation ?? 0) + 1;
    api.put(crds, cluster, { ...failed, metadata: { ...failed.metadata, generation } });
    await settled();
    expect(degraded()).toBeUndefined();
  });
});

test('a stopped controller listens to no faults', async () => {
  const listeners = new Set<unknown>();
  const counted = {
    of: () => [],
    subscribe: (listener: unknown) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  const other = crdController(
    { builtInNames: () => ({ resources: new Set(), kinds: new Set() }) },
    { informers: api.informers, client: api.client, clock, logger: silentLogger, faults: counted },
  );
  expect(listeners.size).toBe(0);
  await other.start();
  expect(listeners.size).toBe(1);
  await other.stop();
  expect(listeners.size).toBe(0);
});

describe('a CRD beside a binding', () => {
  test('gets no name of a bound resource until the binding is deleted', async () => {
    api.put(crds, cluster, definition('widgets', 'Widget'));
    await settled();
    expect(conditionsOf('widgets.example.dev')).toMatchObject({
      NamesAccepted: 'False ListKindConflict: "WidgetList" is already in use',
      Established: 'False NotAccepted: not all names are accepted',
    });
    api.remove(apiBindings, at('things'));
    await settled();
    expect(conditionsOf('widgets.example.dev')['Established']).toMatch(/^False/);
    api.put(logicalClusters, cluster, logicalCluster('{}'));
    await settled();
    expect(conditionsOf('widgets.example.dev')['Established']).toMatch(/^True/);
  });

  test('gets no kind of a bound resource', async () => {
    api.put(crds, cluster, definition('others', 'Widget'));
    await settled();
    expect(conditionsOf('others.example.dev')['NamesAccepted']).toMatch(/^False/);
  });

  test('gets no name that a binding has locked', async () => {
    api.remove(apiBindings, at('things'));
    api.put(crds, cluster, definition('widgets', 'Gadget'));
    await settled();
    expect(conditionsOf('widgets.example.dev')['NamesAccepted']).toBe(
      'False PluralConflict: "widgets" is already in use',
    );
  });

  test('is deleted without the objects of a bound resource', async () => {
    api.put(widgets, cluster, {
      apiVersion: 'example.dev/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'n' },
    });
    const finalizers = ['customresourcecleanup.apiextensions.k8s.io'];
    api.put(crds, cluster, definition('widgets', 'Widget', { finalizers }));
    await settled();
    api.remove(crds, at('widgets.example.dev'));
    await settled();
    expect(api.get(crds, cluster, 'widgets.example.dev')).toBeUndefined();
    expect(api.all(widgets)).toHaveLength(1);
  });

  test('is deleted with its own objects', async () => {
    api.put({ ...widgets, resource: 'gears' }, cluster, {
      apiVersion: 'example.dev/v1',
      kind: 'Gear',
      metadata: { name: 'g', namespace: 'n' },
    });
    const finalizers = ['customresourcecleanup.apiextensions.k8s.io'];
    api.put(crds, cluster, definition('gears', 'Gear', { finalizers }));
    await settled();
    api.remove(crds, at('gears.example.dev'));
    await settled();
    expect(api.get(crds, cluster, 'gears.example.dev')).toBeUndefined();
    expect(api.all({ ...widgets, resource: 'gears' })).toEqual([]);
  });
});

test('accepts names after a start only when all definitions are synced', async () => {
  api.put(crds, cluster, definition('hats', 'Hat'));
  await settled();
  expect(conditionsOf('hats.example.dev')['NamesAccepted']).toMatch(/^True/);
  await controller.stop();
  const { informers, deliver } = delayInitialList(api.informers);
  start(informers);
  api.put(crds, cluster, definition('caps', 'Hat'));
  await settled();
  expect(api.get(crds, cluster, 'caps.example.dev')?.['status']).toBeUndefined();
  deliver();
  await settled();
  expect(conditionsOf('hats.example.dev')['NamesAccepted']).toMatch(/^True/);
  expect(conditionsOf('caps.example.dev')['NamesAccepted']).toMatch(/^False/);
});
