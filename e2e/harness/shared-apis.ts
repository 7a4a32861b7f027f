import type { Json, KubeObject } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import type { ControlPlane } from './control-plane.ts';
import { startControlPlane, topologyName } from './start-control-plane.ts';
import { Requests, type Response } from './requests.ts';
import type { ShardedClusterOptions } from './sharded-cluster.ts';
import { createWorkspace, field } from './workspaces.ts';

/** What was written a moment ago is known on other shards a moment later. */
const patient = { timeout: 60_000 };
const apis = 'apis/apis.kcp.io';

/** Where the API is offered, and where else it is used. */
export const [here, there] = topologyName === 'sharded' ? (['root', 'shard-1'] as const) : (['root', 'root'] as const);

export const bindingsOf = (consumer: string): string => `/clusters/root:${consumer}/${apis}/v1alpha2/apibindings`;
export const exportPath = (name: string): string => `/clusters/root:provider/${apis}/v1alpha2/apiexports/${name}`;

/** A control plane with the workspace `provider`, whose APIs are bound in others; with plain requests as an administrator. */
export class SharedApis implements AsyncDisposable {
  readonly cluster: ControlPlane;
  readonly requests: Requests;
  /** Logical clusters by the names of their workspaces. */
  readonly clusters = new Map<string, string>();

  constructor(cluster: ControlPlane) {
    this.cluster = cluster;
    this.requests = new Requests(cluster);
  }

  static async start(options?: ShardedClusterOptions): Promise<SharedApis> {
    const shared = new SharedApis(await startControlPlane(options));
    try {
      await shared.workspace('provider', here);
      return shared;
    } catch (error) {
      await shared[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Creates the consumers `near`, on the provider's shard, and `far`, on another where there is one. */
  async nearAndFar(): Promise<void> {
    await this.workspace('near', here);
    await this.workspace('far', there);
  }

  /** A new workspace below root; resolves to its logical cluster. */
  async workspace(name: string, shard: string = there): Promise<string> {
    const admin = this.cluster.transport('base');
    await createWorkspace(admin, 'root', name, { shard });
    admin.close();
    const made = await this.get(`/clusters/root/apis/tenancy.kcp.io/v1alpha1/workspaces/${name}`);
    const cluster = field(made, 'spec', 'cluster') as string;
    this.clusters.set(name, cluster);
    return cluster;
  }

  async get(path: string): Promise<Json> {
    return (await this.requests.must({ path })).json as Json;
  }
  async post(path: string, body: object): Promise<Json> {
    return (await this.requests.must({ method: 'POST', path, body })).json as Json;
  }
  async patch(path: string, body: object): Promise<Json> {
    const headers = { 'content-type': 'application/merge-patch+json' };
    return (await this.requests.must({ method: 'PATCH', path, headers, body })).json as Json;
  }
  remove(path: string): Promise<Response> {
    return this.requests.must({ method: 'DELETE', path });
  }

  /** Creates an APIResourceSchema of the provider. */
  addSchema(schema: KubeObject): Promise<Json> {
    return this.post(`/clusters/root:provider/${apis}/v1alpha1/apiresourceschemas`, schema);
  }
  /** Creates an APIExport of the provider. */
  offer(exported: KubeObject): Promise<Json> {
    return this.post(`/clusters/root:provider/${apis}/v1alpha2/apiexports`, exported);
  }

  /** Creates a binding to an export of the provider, of the same name. */
  createBinding(consumer: string, name: string): Promise<Json> {
    return eventually(
      () =>
        this.post(bindingsOf(consumer), {
          apiVersion: 'apis.kcp.io/v1alpha2',
          kind: 'APIBinding',
          metadata: { name },
          spec: { reference: { export: { path: 'root:provider', name } } },
        }),
      patient,
    );
  }
  /** The binding, once it is bound. */
  bound(consumer: string, name: string): Promise<Json> {
    return eventually(async () => {
      const binding = await this.get(`${bindingsOf(consumer)}/${name}`);
      if (field(binding, 'status', 'phase') !== 'Bound') throw new Error(JSON.stringify(binding));
      return binding;
    }, patient);
  }
  async bind(consumer: string, name: string): Promise<Json> {
    await this.createBinding(consumer, name);
    return this.bound(consumer, name);
  }

  /** Creates a ClusterRole of this name in a workspace, and binds it to the subjects. */
  async grant(workspace: string, name: string, rules: readonly object[], subjects: readonly object[]): Promise<void> {
    const group = 'rbac.authorization.k8s.io';
    const path = `/clusters/root:${workspace}/apis/${group}/v1`;
    const metadata = { name };
    await this.post(`${path}/clusterroles`, { apiVersion: `${group}/v1`, kind: 'ClusterRole', metadata, rules });
    await this.post(`${path}/clusterrolebindings`, {
      apiVersion: `${group}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: group, kind: 'ClusterRole', name },
      subjects,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.requests[Symbol.dispose]();
    await this.cluster[Symbol.asyncDispose]();
  }
}
