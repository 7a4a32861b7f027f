import type { GroupVersionResource, Json, JsonObject, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  type APIBinding,
  type APIExport,
  type SchemaVersion,
} from '@multiplane/apis';
import { workspaces, type Workspace } from '@multiplane/controllers';
import { eventually } from '../eventually.ts';
import { apiExport, apiResourceSchema, exportedResource, type WantedSchema } from '../shared-apis.ts';
import { InProcessShard } from './in-process-shard.ts';

const root = 'root' as LogicalClusterName;

/** A version of an APIResourceSchema with this spec. */
export const versionOf = (name: string, spec: JsonObject, more: Partial<SchemaVersion> = {}): SchemaVersion => ({
  name,
  served: true,
  storage: true,
  schema: {
    type: 'object',
    properties: { spec, status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
  },
  subresources: { status: {} },
  ...more,
});
const anySpec: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** An in-process shard with helpers for tests of APIExports and APIBindings. */
export class ApiSharingShard implements AsyncDisposable {
  readonly shard: InProcessShard;
  #workspaces = 0;

  private constructor(shard: InProcessShard) {
    this.shard = shard;
  }

  static async start(flags?: readonly string[]): Promise<ApiSharingShard> {
    return new ApiSharingShard(await InProcessShard.start(flags));
  }

  get client(): InProcessShard['client'] {
    return this.shard.client;
  }

  /** Creates a workspace; resolves with its logical cluster once it is Ready. */
  async workspace(): Promise<LogicalClusterName> {
    const name = `w${++this.#workspaces}`;
    await this.client.create(workspaces, root, {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      spec: { type: { name: 'universal', path: 'root' } },
    });
    return eventually(
      async () => {
        const created = (await this.client.get(workspaces, { cluster: root, namespace: '', name })) as Workspace;
        if (created.status?.phase !== 'Ready') throw new Error(`workspace ${name} is ${created.status?.phase}`);
        return created.spec?.cluster as LogicalClusterName;
      },
      { timeout: 20_000 },
    );
  }

  /** The name of the `back`-th last workspace of {@link workspace}. */
  workspaceName(back = 0): string {
    return `w${this.#workspaces - back}`;
  }

  async schema(
    cluster: LogicalClusterName,
    wanted: Partial<Omit<WantedSchema, 'versions'>> & { readonly versions?: readonly SchemaVersion[] } = {},
  ): Promise<string> {
    const { versions = [versionOf('v1', anySpec)] } = wanted;
    const object = apiResourceSchema({ plural: 'hats', ...wanted, versions: versions as unknown as Json });
    await this.client.create(apiResourceSchemas, cluster, object);
    return object.metadata.name ?? '';
  }

  /** Creates an APIExport of these schemas; resolves with its identity hash. */
  async export(cluster: LogicalClusterName, name: string, ...schemas: string[]): Promise<string> {
    await this.client.create(apiExports, cluster, apiExport(name, schemas));
    return eventually(async () => {
      const created = (await this.client.get(apiExports, { cluster, namespace: '', name })) as APIExport;
      const identity = created.status?.identityHash;
      if (identity === undefined) throw new Error(`export ${name} has no identity`);
      return identity;
    });
  }

  /** Replaces the schemas of an APIExport. */
  async offer(cluster: LogicalClusterName, name: string, ...schemas: string[]): Promise<void> {
    await this.client.patch(apiExports, { cluster, namespace: '', name }, 'application/merge-patch+json', {
      spec: { resources: schemas.map(exportedResource) },
    });
  }

  /** Creates an APIBinding to an export of another logical cluster; resolves once it is Bound. */
  async bind(cluster: LogicalClusterName, provider: LogicalClusterName, name: string): Promise<void> {
    await this.client.create(apiBindings, cluster, {
      apiVersion: 'apis.kcp.io/v1alpha2',
      kind: 'APIBinding',
      metadata: { name },
      spec: { reference: { export: { path: provider, name } } },
    });
    await eventually(async () => {
      const { status } = (await this.client.get(apiBindings, { cluster, namespace: '', name })) as APIBinding;
      if (status?.phase !== 'Bound') throw new Error(`binding ${name} is ${JSON.stringify(status)}`);
    });
  }

  get(path: string, accept?: string): Promise<Json> {
    return this.shard.transport.json({ method: 'GET', path, accept });
  }

  /** The sorted names of the objects of a list. */
  async names(path: string): Promise<string[]> {
    const { items } = (await this.get(path)) as unknown as { items: KubeObject[] };
    return items.map(({ metadata }) => metadata.name ?? '').toSorted((a, b) => (a < b ? -1 : 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shard[Symbol.asyncDispose]();
  }
}

export const hats: GroupVersionResource = { group: 'example.dev', version: 'v1', resource: 'hats' };
export const hat = (name: string, spec: JsonObject = {}, more: Partial<KubeObject['metadata']> = {}): KubeObject => ({
  apiVersion: 'example.dev/v1',
  kind: 'Hat',
  metadata: { name, namespace: 'default', ...more },
  spec,
});
