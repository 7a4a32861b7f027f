import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { apiResourceSchema, eventually } from '@multiplane/testing';
import type { SharedApis } from './shared-apis.ts';
import { field } from './workspaces.ts';

const patient = { timeout: 30_000 };

/** A resource of the provider, of which consumers read the objects. */
export interface PublishedKind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly scope: 'Cluster' | 'Namespaced';
  /** Schema of the spec. */
  readonly spec: JsonObject;
  /** Further members of the version, as its printer columns. */
  readonly version?: JsonObject | undefined;
}

/** A CRD of the provider for a kind. */
function definition({ group, plural, kind, scope, spec, version }: PublishedKind): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope,
      names: { plural, singular: kind.toLowerCase(), kind, listKind: `${kind}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
          ...version,
        },
      ],
    },
  };
}

/** The APIResourceSchema of a kind, of which the core group is written `core` in names. */
export function schemaOf({ version = {}, ...kind }: PublishedKind): KubeObject {
  const schema = { type: 'object', properties: { spec: kind.spec } };
  return apiResourceSchema({ ...kind, versions: [{ name: 'v1', served: true, storage: true, schema, ...version }] });
}

/** What the workspace `provider` publishes as virtual resources, by the plural of each. */
export class VirtualResources {
  readonly #shared: SharedApis;
  readonly #kinds = new Map<string, PublishedKind>();
  readonly #identities = new Map<string, string>();
  /** Kinds of the endpoint slices. */
  readonly #sliceKinds = new Map<string, string>();

  constructor(shared: SharedApis) {
    this.#shared = shared;
  }

  /** Creates the CRD and the APIResourceSchema of a kind; resolves when objects can be created. */
  async define(kind: PublishedKind): Promise<void> {
    await this.#shared.post(
      '/clusters/root:provider/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      definition(kind),
    );
    await this.describe(kind);
  }

  /** Creates the APIResourceSchema of a kind that the provider's workspace serves by other means; resolves as above. */
  async describe(kind: PublishedKind): Promise<void> {
    this.#kinds.set(kind.plural, kind);
    await this.#shared.addSchema(schemaOf(kind));
    await eventually(() => this.#shared.get(this.path('provider', kind.plural)), patient);
  }

  /** Creates a CachedResource of the plural's name, with which its endpoint slice is made; resolves once it is Ready. */
  async replicate(plural: string, labelSelector?: JsonObject): Promise<void> {
    const { group } = this.#kind(plural);
    await eventually(
      () =>
        this.#shared.post(cachedResourcePath(), {
          apiVersion: 'cache.kcp.io/v1alpha1',
          kind: 'CachedResource',
          metadata: { name: plural },
          spec: { group, version: 'v1', resource: plural, ...(labelSelector === undefined ? {} : { labelSelector }) },
        }),
      patient,
    );
    const identity = await eventually(async () => {
      const cached = await this.#shared.get(cachedResourcePath(plural));
      if (field(cached, 'status', 'phase') !== 'Ready') throw new Error(JSON.stringify(cached));
      return field(cached, 'status', 'identityHash') as string;
    }, patient);
    this.#identities.set(plural, identity);
  }

  /** The same under kcp's newer names, with the slice that its provider makes. */
  async replicateByNewerNames(plural: string): Promise<void> {
    const { group } = this.#kind(plural);
    const [apiVersion, metadata] = ['cache.kcp.io/v1alpha1', { name: plural }];
    const cache = '/clusters/root:provider/apis/cache.kcp.io/v1alpha1';
    const spec = { group, version: 'v1', resource: plural };
    await this.#shared.post(`${cache}/clustercachedresources`, {
      apiVersion,
      kind: 'ClusterCachedResource',
      metadata,
      spec,
    });
    await this.#shared.post(`${cache}/clustercachedresourceendpointslices`, {
      apiVersion,
      kind: 'ClusterCachedResourceEndpointSlice',
      metadata,
      spec: { clusterCachedResource: { name: plural } },
    });
    const identity = await eventually(async () => {
      const cached = await this.#shared.get(`${cache}/clustercachedresources/${plural}`);
      if (field(cached, 'status', 'phase') !== 'Ready') throw new Error(JSON.stringify(cached));
      return field(cached, 'status', 'identityHash') as string;
    }, patient);
    this.#identities.set(plural, identity);
    this.#sliceKinds.set(plural, 'ClusterCachedResourceEndpointSlice');
  }

  /** The entry of a replicated resource in `spec.resources` of an APIExport. */
  exported(plural: string): JsonObject {
    const { group } = this.#kind(plural);
    const kind = this.#sliceKinds.get(plural) ?? 'CachedResourceEndpointSlice';
    return {
      name: plural,
      group,
      schema: `v1.${plural}.${group === '' ? 'core' : group}`,
      storage: {
        virtual: {
          reference: { apiGroup: 'cache.kcp.io', kind, name: plural },
          identityHash: this.#identities.get(plural) ?? '',
        },
      },
    };
  }

  /** Exports replicated resources; resolves once the export may be bound. */
  async offer(name: string, plurals: readonly string[], spec: JsonObject = {}): Promise<void> {
    await this.#shared.offer({
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIExport',
      metadata: { name },
      spec: { ...spec, resources: plurals.map((plural) => this.exported(plural)) },
    });
    await eventually(async () => {
      const exported = await this.#shared.get(`/clusters/root:provider/apis/apis.kcp.io/v1alpha2/apiexports/${name}`);
      const conditions = (field(exported, 'status', 'conditions') ?? []) as JsonObject[];
      if (!conditions.some(({ type, status }) => type === 'VirtualStorageValid' && status === 'True'))
        throw new Error(JSON.stringify(exported));
    }, patient);
  }

  /** Waits until a workspace shows these objects of a kind, in order, and no others. */
  async shown(workspace: string, plural: string, names: readonly string[]): Promise<void> {
    await eventually(async () => {
      const found = namesOf(await this.#shared.get(this.path(workspace, plural)));
      if (found.join() !== names.join()) throw new Error(`root:${workspace} shows ${plural} ${found.join(', ')}`);
    }, patient);
  }

  /** Path of the objects of a kind in a workspace below root. */
  path(workspace: string, plural: string, namespace = ''): string {
    const { group } = this.#kind(plural);
    const base = `/clusters/root:${workspace}/${group === '' ? 'api' : `apis/${group}`}/v1`;
    return `${base}/${namespace === '' ? '' : `namespaces/${namespace}/`}${plural}`;
  }

  #kind(plural: string): PublishedKind {
    const kind = this.#kinds.get(plural);
    if (kind === undefined) throw new Error(`${plural} is not defined`);
    return kind;
  }
}

export const cachedResourcePath = (name = ''): string =>
  `/clusters/root:provider/apis/cache.kcp.io/v1alpha1/cachedresources${name === '' ? '' : `/${name}`}`;

/** Names of the items of a list. */
export const namesOf = (list: unknown): string[] =>
  ((list as { items?: KubeObject[] }).items ?? []).map(({ metadata }) => metadata.name ?? '');
