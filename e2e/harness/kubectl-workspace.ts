import type { ControlPlane } from './control-plane.ts';
import type { ShardedClusterOptions } from './sharded-cluster.ts';
import { startControlPlane } from './start-control-plane.ts';
import { testTokens } from './local-cluster.ts';
import { Kubectl } from './kubectl.ts';
import { createWorkspace, grantAccess } from './workspaces.ts';

/** A control plane with one workspace, and kubectl for its users. */
export class KubectlWorkspace implements AsyncDisposable {
  readonly cluster: ControlPlane;
  /** `root:e2e`. */
  readonly path: string;
  readonly kubectl: Kubectl;
  readonly #others: Kubectl[] = [];
  private constructor(cluster: ControlPlane, path: string, kubectl: Kubectl) {
    this.cluster = cluster;
    this.path = path;
    this.kubectl = kubectl;
  }

  /** Starts the server, makes the workspace and in it the namespace `e2e`, which is the default of every kubectl. */
  static async start(options: ShardedClusterOptions = {}): Promise<KubectlWorkspace> {
    const cluster = await startControlPlane(options);
    const transport = cluster.transport('shard-base');
    try {
      const path = await createWorkspace(transport, 'root', 'e2e');
      await grantAccess(transport, path, ['user-1', 'user-2']);
      const kubectl = await Kubectl.create({
        server: `${cluster.url}/clusters/${path}`,
        ca: cluster.ca,
        token: testTokens.masters,
        namespace: 'e2e',
      });
      await kubectl.ok(['create', 'namespace', 'e2e']);
      return new KubectlWorkspace(cluster, path, kubectl);
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    } finally {
      transport.close();
    }
  }

  get server(): string {
    return `${this.cluster.url}/clusters/${this.path}`;
  }

  /** kubectl of another user, by token. */
  async as(token: string): Promise<Kubectl> {
    const kubectl = await Kubectl.create({ server: this.server, ca: this.cluster.ca, token, namespace: 'e2e' });
    this.#others.push(kubectl);
    return kubectl;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.kubectl, ...this.#others].map((kubectl) => kubectl[Symbol.asyncDispose]()));
    await this.cluster[Symbol.asyncDispose]();
  }
}
