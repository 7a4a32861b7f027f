import type { Json } from '@multiplane/apimachinery';
import { apiExport, apiResourceSchema, eventually } from '@multiplane/testing';
import type { OpenWatch } from '../conformance/transport.ts';
import type { Response } from '../harness/requests.ts';
import { SharedApis } from '../harness/shared-apis.ts';
import type { ShardedClusterOptions } from '../harness/sharded-cluster.ts';
import { field } from '../harness/workspaces.ts';

const patient = { timeout: 60_000 };
const rbacGroup = 'rbac.authorization.k8s.io';
const scopesApi = 'apis/scopes.multiplane.dev/v1alpha1';
export const scopesPath = `/clusters/root:provider/${scopesApi}/apiexportscopes`;
export const slicesPath = `/clusters/root:provider/${scopesApi}/apiexportscopeendpointslices`;
export const labelKey = 'marketplace.example/provider';
/** By which a provider holds an object in its scope. */
export const finalizer = 'a.example/cleanup';
const clusters = 'apis/marketplace.example/v1/namespaces/default/clusters';
const allClusters = 'apis/marketplace.example/v1/clusters';

export interface Cluster {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly labels?: Record<string, string>;
    readonly annotations?: Record<string, string>;
    readonly finalizers?: string[];
  };
  readonly spec?: { readonly size?: number; readonly class?: string };
  readonly status?: { readonly phase?: string };
}

/** An event of a watch. */
export interface WatchEvent {
  readonly type: string;
  readonly object: Cluster;
}

/**
 * Providers `a` and `b` of the API `clusters.marketplace.example`, exported in `provider` as `marketplace`. Objects are assigned
 * by a label: `user-1` may use what is in scope a, `user-2` what is in scope b. `user-3` is the consumer, administrator of the
 * workspaces `near` and `far`.
 */
export class Marketplace implements AsyncDisposable {
  readonly shared: SharedApis;
  private constructor(shared: SharedApis) {
    this.shared = shared;
  }

  static async start(scopeSpec: object = {}, options: ShardedClusterOptions = {}): Promise<Marketplace> {
    const market = new Marketplace(await SharedApis.start(options));
    try {
      await market.#setUp(scopeSpec);
      return market;
    } catch (error) {
      await market[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #setUp(scopeSpec: object): Promise<void> {
    const { shared } = this;
    await shared.nearAndFar();
    const schema = {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { size: { type: 'integer' }, class: { type: 'string' } } },
        status: { type: 'object', properties: { phase: { type: 'string' }, size: { type: 'integer' } } },
      },
    };
    const scale = { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' };
    const selectableFields = [{ jsonPath: '.spec.class' }];
    const version = {
      name: 'v1',
      served: true,
      storage: true,
      schema,
      subresources: { status: {}, scale },
      selectableFields,
    };
    await shared.addSchema(
      apiResourceSchema({ group: 'marketplace.example', plural: 'clusters', versions: [version] }),
    );
    await shared.offer(apiExport('marketplace', ['v1.clusters.marketplace.example']));
    await shared.bind('near', 'marketplace');
    await shared.bind('far', 'marketplace');
    await this.bindScopes('provider');
    for (const name of ['a', 'b']) await this.createScope(name, scopeSpec);
    await this.grant('provider', 'user-1', 'use-a', [contentRule('a')]);
    await this.grant('provider', 'user-2', 'use-b', [contentRule('b')]);
    for (const consumer of ['near', 'far']) await this.administer(consumer, 'user-3');
    for (const name of ['a', 'b']) await this.inForce(name);
    for (const [as, scope] of [
      ['user-1', 'a'],
      ['user-2', 'b'],
    ] as const)
      for (const consumer of ['near', 'far'])
        await eventually(() => this.list(scope, consumer, as).then(mustSucceed), patient);
  }

  /** Binds the API of scopes in a workspace. */
  async bindScopes(workspace: string): Promise<void> {
    const name = 'scopes.multiplane.dev';
    const path = `/clusters/root:${workspace}/apis/apis.kcp.io/v1alpha2/apibindings`;
    await this.shared.post(path, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name },
      spec: { reference: { export: { path: 'root', name } } },
    });
    await this.shared.bound(workspace, name);
  }

  async createScope(name: string, spec: object = {}, value = name): Promise<Response> {
    return this.shared.requests.must({ method: 'POST', path: scopesPath, body: scopeObject(name, spec, value) });
  }

  /** Waits until every shard publishes the endpoint of a scope. */
  async inForce(name: string): Promise<Json> {
    return eventually(async () => {
      const scope = await this.shared.get(`${scopesPath}/${name}`);
      const conditions = (field(scope, 'status', 'conditions') ?? []) as { type: string; status: string }[];
      if (conditions.length < 3 || conditions.some(({ status }) => status !== 'True'))
        throw new Error(JSON.stringify(scope));
      return scope;
    }, patient);
  }

  async grant(workspace: string, user: string, name: string, rules: readonly object[]): Promise<void> {
    const subjects = [{ apiGroup: rbacGroup, kind: 'User', name: user }];
    await this.shared.grant(workspace, name, [...rules, { nonResourceURLs: ['/'], verbs: ['access'] }], subjects);
  }

  /** Makes a user administrator of a workspace, with rights on bound resources. */
  async administer(workspace: string, user: string): Promise<void> {
    await this.grant(workspace, user, `admin-${user}`, [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }]);
  }

  /** Path of the clusters of a consumer, in the consumer's workspace. */
  own(consumer: string, name = ''): string {
    return `/clusters/root:${consumer}/${clusters}${name === '' ? '' : `/${name}`}`;
  }

  /** Path of the clusters of a consumer, or of all consumers of a shard, below a scope. */
  in(scope: string, consumer: string, name = ''): string {
    const cluster = consumer === '*' ? '*' : (this.shared.clusters.get(consumer) as string);
    const path = consumer === '*' ? allClusters : clusters;
    return `${this.base(scope)}/clusters/${cluster}/${path}${name === '' ? '' : `/${name}`}`;
  }

  base(scope: string): string {
    return `/services/apiexport-scope/${this.shared.clusters.get('provider') ?? ''}/${scope}`;
  }

  list(scope: string, consumer: string, as: string): Promise<Response> {
    return this.shared.requests.send({ as, path: this.in(scope, consumer) });
  }

  get(scope: string, consumer: string, name: string, as = userOf(scope)): Promise<Response> {
    return this.shared.requests.send({ as, path: this.in(scope, consumer, name) });
  }

  /** Creates a cluster in the workspace of a consumer, as the consumer. */
  create(consumer: string, name: string, labels: Record<string, string> = {}, as = 'user-3'): Promise<Response> {
    const body = clusterObject(name, { labels });
    return this.shared.requests.send({ as, method: 'POST', path: this.own(consumer), body });
  }

  patch(path: string, body: object, as: string): Promise<Response> {
    const headers = { 'content-type': 'application/merge-patch+json' };
    return this.shared.requests.send({ as, method: 'PATCH', path, headers, body });
  }

  /** Asks for another value of the label, as an administrator, who has `assign` on every scope. */
  move(consumer: string, name: string, to: string, annotations: object = {}): Promise<Response> {
    return this.patch(this.own(consumer, name), { metadata: { labels: { [labelKey]: to }, annotations } }, 'masters');
  }

  /** A cluster as its consumer sees it now. */
  async current(consumer: string, name: string): Promise<Cluster> {
    return objectOf(await this.shared.requests.send({ path: this.own(consumer, name) }));
  }

  /** Creates a cluster in scope a with a {@link finalizer} that the provider adds through the scope. */
  async createHeld(consumer: string, name: string): Promise<void> {
    mustSucceed(await this.create(consumer, name, { [labelKey]: 'a' }));
    mustSucceed(await this.patch(this.in('a', consumer, name), { metadata: { finalizers: [finalizer] } }, 'user-1'));
  }

  watch(scope: string, consumer: string, query = ''): Promise<OpenWatch> {
    return this.shared.requests.watch(`${this.in(scope, consumer)}?watch=true${query}`, userOf(scope));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const consumer of ['near', 'far']) await this.#release(consumer);
    await this.shared[Symbol.asyncDispose]();
  }

  /** Removes finalizers: a workspace goes when its objects do, and nobody is left who would release them. */
  async #release(consumer: string): Promise<void> {
    const { json } = await this.shared.requests.send({ path: this.own(consumer) });
    for (const { metadata } of (json['items'] ?? []) as readonly Cluster[])
      if (metadata.finalizers !== undefined)
        await this.patch(this.own(consumer, metadata.name), { metadata: { finalizers: null } }, 'masters');
  }
}

/** The user with access to the content of a scope. */
export const userOf = (scope: string): string => (scope === 'a' ? 'user-1' : 'user-2');

export const contentRule = (scope: string): object => ({
  apiGroups: ['scopes.multiplane.dev'],
  resources: ['apiexportscopes/content'],
  resourceNames: [scope],
  verbs: ['*'],
});

export const scopeObject = (name: string, spec: object = {}, value = name): object => ({
  apiVersion: 'scopes.multiplane.dev/v1alpha1',
  kind: 'APIExportScope',
  metadata: { name },
  spec: { export: { name: 'marketplace' }, selector: { matchLabels: { [labelKey]: value } }, ...spec },
});

export const clusterObject = (name: string, metadata: object = {}, spec: object = { size: 1 }): object => ({
  apiVersion: 'marketplace.example/v1',
  kind: 'Cluster',
  metadata: { name, ...metadata },
  spec,
});

export function mustSucceed(response: Response): Response {
  if (response.status >= 300) throw new Error(`${response.status}: ${response.text}`);
  return response;
}

/** The scope that the label of a cluster names. */
export const scopeOf = ({ metadata }: Cluster): string | undefined => metadata.labels?.[labelKey];

export const objectOf = (response: Response): Cluster => mustSucceed(response).json as unknown as Cluster;

/** The events of a watch without bookmarks, once there are as many as expected. */
export function eventsOf(watch: OpenWatch, count: number): Promise<WatchEvent[]> {
  return eventually(() => {
    const events = watch.events as unknown as WatchEvent[];
    const seen = events.filter(({ type }) => type !== 'BOOKMARK');
    if (seen.length < count) throw new Error(`events: ${JSON.stringify(events)}`);
    return Promise.resolve(seen);
  }, patient);
}

/** Type, name and revision of events. */
export const summary = (events: readonly WatchEvent[]): string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name} ${object.metadata.resourceVersion}`);
