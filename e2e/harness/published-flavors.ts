import assert from 'node:assert/strict';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { apiResourceSchema, eventually } from '@multiplane/testing';
import type { OpenWatch } from '../conformance/transport.ts';
import type { Requests, Response } from './requests.ts';
import { field } from './workspaces.ts';

const group = 'cloud.example.com';
const patient = { timeout: 90_000, interval: 200 };
const spec: JsonObject = { type: 'object', properties: { cpus: { type: 'integer' } } };
const ofProvider = (api: string, name: string): string => `/clusters/root:provider/apis/${api}/${name}`;

export const objects = (workspace: string, plural = 'flavors'): string =>
  `/clusters/root:${workspace}/apis/${group}/v1/${plural}`;
export const cachedResource = (name: string): string => ofProvider('cache.kcp.io/v1alpha1', `cachedresources/${name}`);

/**
 * Resources with one object, `small`, that the workspace `provider` publishes and consumers bind as virtual resources.
 * `flavors` change.
 */
export class PublishedFlavors {
  readonly #requests: Requests;
  readonly #consumers: readonly string[];
  /** Value of `spec.cpus`; increases with each write of the provider. */
  cpus = 1;

  constructor(options: { readonly consumers: readonly string[] }, modules: { readonly requests: Requests }) {
    this.#consumers = options.consumers;
    this.#requests = modules.requests;
  }

  async get(path: string): Promise<JsonObject> {
    return (await this.#requests.must({ path })).json as JsonObject;
  }
  #post(path: string, body: object): Promise<Response> {
    return eventually(() => this.#requests.must({ method: 'POST', path, body }), patient);
  }

  /** Publishes a resource of the provider with one object; resolves to the identity. */
  async publish(plural: string, kind: string): Promise<string> {
    await this.#post(ofProvider('apiextensions.k8s.io/v1', 'customresourcedefinitions'), {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.${group}` },
      spec: {
        group,
        scope: 'Cluster',
        names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          },
        ],
      },
    });
    await this.#post(
      ofProvider('apis.kcp.io/v1alpha1', 'apiresourceschemas'),
      apiResourceSchema({ group, plural, kind, scope: 'Cluster', spec }),
    );
    await this.#post(objects('provider', plural), {
      apiVersion: `${group}/v1`,
      kind,
      metadata: { name: 'small' },
      spec: { cpus: this.cpus },
    });
    await this.#post(ofProvider('cache.kcp.io/v1alpha1', 'cachedresources'), {
      apiVersion: 'cache.kcp.io/v1alpha1',
      kind: 'CachedResource',
      metadata: { name: plural },
      spec: { group, version: 'v1', resource: plural },
    });
    await this.#post(ofProvider('cache.kcp.io/v1alpha1', 'cachedresourceendpointslices'), {
      apiVersion: 'cache.kcp.io/v1alpha1',
      kind: 'CachedResourceEndpointSlice',
      metadata: { name: plural },
      spec: { cachedResource: { name: plural }, export: { name: plural } },
    });
    return eventually(async () => {
      const cached = await this.get(cachedResource(plural));
      assert.equal(field(cached, 'status', 'phase'), 'Ready');
      return field(cached, 'status', 'identityHash') as string;
    }, patient);
  }

  /** Exports a published resource and binds it in the workspaces of all consumers. */
  async bind(plural: string, identityHash: string): Promise<void> {
    const reference = { apiGroup: 'cache.kcp.io', kind: 'CachedResourceEndpointSlice', name: plural };
    await this.#post(ofProvider('apis.kcp.io/v1alpha2', 'apiexports'), {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name: plural },
      spec: {
        resources: [
          { name: plural, group, schema: `v1.${plural}.${group}`, storage: { virtual: { reference, identityHash } } },
        ],
      },
    });
    for (const consumer of this.#consumers) {
      await this.#post(`/clusters/root:${consumer}/apis/apis.kcp.io/v1alpha2/apibindings`, {
        apiVersion: 'apis.kcp.io/v1alpha2',
        kind: 'APIBinding',
        metadata: { name: plural },
        spec: { reference: { export: { path: 'root:provider', name: plural } } },
      });
      await eventually(async () => assert.deepEqual(await this.read(consumer, plural), [this.cpus]), patient);
    }
  }

  /** `spec.cpus` of the objects that a consumer lists. */
  async read(consumer: string, plural = 'flavors'): Promise<unknown[]> {
    const { items } = (await this.get(objects(consumer, plural))) as unknown as { items: KubeObject[] };
    return items.map((item) => field(item as never, 'spec', 'cpus'));
  }

  /** A write of the provider. Returns the value that consumers read from then on. */
  async write(): Promise<number> {
    this.cpus += 1;
    await this.#requests.must({
      method: 'PATCH',
      path: `${objects('provider')}/small`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { cpus: this.cpus } },
    });
    return this.cpus;
  }

  /** Waits until all consumers read a value and all watches have got it. */
  arrives(value: number, watches: readonly OpenWatch[]): Promise<void> {
    return eventually(async () => {
      for (const consumer of this.#consumers) assert.deepEqual(await this.read(consumer), [value]);
      assert.deepEqual(
        watches.map(lastSeen),
        watches.map(() => value),
      );
    }, patient);
  }
  /** The condition by which a CachedResource says since when consumers read an old state. */
  async reachability(): Promise<JsonObject | undefined> {
    const conditions = field(await this.get(cachedResource('flavors')), 'status', 'conditions') as JsonObject[];
    return conditions.find(({ type }) => type === 'CacheReachable');
  }
  /** Waits for a status of that condition. */
  isReachable(status: string): Promise<void> {
    return eventually(async () => assert.equal((await this.reachability())?.['status'], status), patient);
  }
  watchOf(consumer: string, query = ''): Promise<OpenWatch> {
    return this.#requests.watch(`${objects(consumer)}?watch=true${query}`);
  }
}

const lastSeen = ({ events }: OpenWatch): unknown => field(events.at(-1)?.['object'] as never, 'spec', 'cpus');
