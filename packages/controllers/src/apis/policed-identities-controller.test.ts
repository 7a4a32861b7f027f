import { afterEach, expect, test } from '@jest/globals';
import type { GroupVersionResource, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerFactory, InformerHandlers, ObjectClient, ObjectReference } from '@multiplane/client';
import { type Logger } from '@multiplane/component-base';
import { FakeClock } from '@multiplane/testing';
import type { Controller } from '../runtime/controller.ts';
import { policedIdentitiesController } from './policed-identities-controller.ts';

const annotation = 'internal.apis.kcp.io/policed-identities';

/** Objects as informers and a client see them, without a server. */
class World {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #handlers = new Map<string, InformerHandlers[]>();

  readonly informers = {
    informer: ({ resource }: GroupVersionResource) =>
      ({
        synced: Promise.resolve(),
        get: (reference: ObjectReference) => this.#of(resource).get(keyOf(reference)),
        list: ({ cluster }: { cluster: string }) =>
          [...this.#of(resource)].filter(([key]) => key.startsWith(`${cluster}/`)).map(([, object]) => object),
        addHandlers: (handlers: InformerHandlers) => {
          this.#handlers.set(resource, [...(this.#handlers.get(resource) ?? []), handlers]);
          return () => undefined;
        },
      }) as unknown as Informer,
  } as unknown as InformerFactory;

  readonly client = {
    patch: async ({ resource }: GroupVersionResource, reference: ObjectReference, _type: string, patch: JsonObject) => {
      const object = structuredClone(this.#of(resource).get(keyOf(reference))) as KubeObject;
      const { annotations } = patch['metadata'] as { annotations: Record<string, string | null> };
      const merged = Object.entries({ ...object.metadata.annotations, ...annotations });
      object.metadata.annotations = Object.fromEntries(
        merged.filter((entry): entry is [string, string] => entry[1] !== null),
      );
      this.put(resource, reference.cluster, object);
      return Promise.resolve(object);
    },
  } as unknown as ObjectClient;

  put(resource: string, cluster: string, object: KubeObject): void {
    const reference = { cluster: cluster as LogicalClusterName, namespace: '', name: object.metadata.name ?? '' };
    const old = this.#of(resource).get(keyOf(reference));
    this.#of(resource).set(keyOf(reference), object);
    for (const handlers of this.#handlers.get(resource) ?? []) {
      if (old === undefined) handlers.added?.(object, reference);
      else handlers.updated?.(object, old, reference);
    }
  }

  remove(resource: string, cluster: string, name: string): void {
    this.#of(resource).delete(`${cluster}/${name}`);
  }

  /** What is noted on the bound definition. */
  get noted(): string | undefined {
    return this.#of('customresourcedefinitions').get('system:bound-crds/uid')?.metadata.annotations?.[annotation];
  }

  #of(resource: string): Map<string, KubeObject> {
    const objects = this.#objects.get(resource) ?? new Map<string, KubeObject>();
    this.#objects.set(resource, objects);
    return objects;
  }
}

const keyOf = ({ cluster, name }: ObjectReference): string => `${cluster}/${name}`;
const anExport = (name: string, identityHash: string, policy: boolean): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name },
  spec: {
    resources: [{ name: 'widgets', schema: 'v1' }],
    ...(policy ? { maximalPermissionPolicy: { local: {} } } : {}),
  },
  status: { identityHash },
});

const logger = { child: () => logger, debug: () => undefined, warn: () => undefined, error: () => undefined };

const clock = new FakeClock();
let controller: Controller | undefined;
afterEach(async () => {
  await controller?.stop();
});

async function world(): Promise<World> {
  const made = new World();
  const { informers, client } = made;
  controller = policedIdentitiesController({
    informers,
    globalInformers: informers,
    client,
    clock,
    logger: logger as unknown as Logger,
  });
  await controller.start();
  made.put('apiresourceschemas', 'provider', {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: 'v1', uid: 'uid' },
  });
  return made;
}
const bind = (on: World): void =>
  on.put('customresourcedefinitions', 'system:bound-crds', {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: 'uid',
      annotations: { 'apis.kcp.io/schema-cluster': 'provider', 'apis.kcp.io/schema-name': 'v1', other: 'stays' },
    },
  });

test('a bound definition records the exports of its schema with a policy, until they have none', async () => {
  const on = await world();
  on.put('apiexports', 'provider', anExport('strict', 'a', true));
  on.put('apiexports', 'provider', anExport('free', 'b', false));
  bind(on);
  await clock.advance(0);
  expect(on.noted).toBe('a');
  on.put('apiexports', 'provider', anExport('free', 'b', true));
  await clock.advance(0);
  expect(on.noted).toBe('a,b');
  on.put('apiexports', 'provider', anExport('strict', 'a', false));
  await clock.advance(0);
  expect(on.noted).toBe('b');
});

test('the record of an export is kept after its deletion and when another export takes its name', async () => {
  const on = await world();
  on.put('apiexports', 'provider', anExport('strict', 'a', true));
  bind(on);
  await clock.advance(0);
  expect(on.noted).toBe('a');
  on.remove('apiexports', 'provider', 'strict');
  on.put('apiexports', 'provider', anExport('strict', 'c', true));
  await clock.advance(0);
  expect(on.noted).toBe('a,c');
  on.put('apiexports', 'provider', anExport('strict', 'c', false));
  await clock.advance(0);
  expect(on.noted).toBe('a');
});
