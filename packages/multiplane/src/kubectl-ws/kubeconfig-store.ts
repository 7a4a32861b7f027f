import { clientConfigOf, type ClientConfig } from '@multiplane/client';
import { execCredential } from './exec-credential.ts';
import { KubeconfigFiles, type Cluster, type Context } from './kubeconfig-files.ts';

export const currentContextName = 'workspace.kcp.io/current';
export const previousContextName = 'workspace.kcp.io/previous';

/** The kubeconfig of `kubectl ws`: reads the current workspace, switches to another one, and back. */
export class KubeconfigStore {
  readonly #files: KubeconfigFiles;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #user: string | undefined;
  #currentContext: string | undefined;
  constructor(options: {
    /** In the order of precedence. */
    readonly files: readonly string[];
    readonly context?: string | undefined;
    /** Overrides the user of the context. */
    readonly user?: string | undefined;
    /** Environment of credential plugins. */
    readonly environment?: NodeJS.ProcessEnv;
  }) {
    this.#files = new KubeconfigFiles(options.files);
    this.#environment = options.environment ?? {};
    this.#user = options.user;
    this.#currentContext = options.context ?? this.#files.currentContext;
  }

  /** Server URL of the current context. */
  get server(): string {
    return this.#current().cluster.cluster.server;
  }

  /**
   * The client settings of the current context.
   *
   * @param authenticated - false: the caller has its own credentials, so that no credential plugin runs
   */
  client(authenticated = true): ClientConfig {
    const { context, cluster } = this.#current();
    const user = this.#files.user(this.#user ?? context.context.user);
    if (this.#user !== undefined && user === undefined)
      throw new Error(`auth info ${JSON.stringify(this.#user)} does not exist`);
    const config = clientConfigOf(
      {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [cluster],
        contexts: [{ ...context, context: { ...context.context, user: user?.name ?? '' } }],
        users: user === undefined ? [] : [user],
      },
      '',
      context.name,
    );
    const exec = user?.user.exec;
    if (exec === undefined || !authenticated) return config;
    const credential = execCredential({ exec, cluster: cluster.cluster, environment: this.#environment });
    return { ...config, ...credential };
  }

  /** Points the context `workspace.kcp.io/current` to a server and makes it current; the old one becomes `…/previous`. */
  async use(server: string): Promise<void> {
    const { context, cluster } = this.#current();
    this.#keepAsPrevious(context, cluster);
    this.#files.putCluster(clusterAt(server, { ...cluster, name: currentContextName }), cluster.name);
    this.#files.putContext(contextTo(currentContextName, { ...context, name: currentContextName }), context.name);
    await this.#switchTo(currentContextName);
  }

  /** Switches to the previous context, with its user. Returns false when there is none. */
  async usePrevious(): Promise<boolean> {
    const previous = this.#files.context(previousContextName);
    if (previous === undefined) return false;
    const name = previous.context.cluster;
    const cluster = this.#files.cluster(name);
    if (cluster === undefined) throw new Error(`cluster ${JSON.stringify(name)} not found in kubeconfig`);
    const now = this.#current();
    this.#keepAsPrevious(now.context, now.cluster);
    const moves = name === previousContextName;
    if (moves) this.#files.putCluster({ ...cluster, name: currentContextName }, name);
    const next = contextTo(moves ? currentContextName : name, { ...previous, name: currentContextName });
    this.#files.putContext(next, previous.name);
    await this.#switchTo(currentContextName);
    return true;
  }

  #keepAsPrevious(context: Context, cluster: Cluster): void {
    // Clusters of the user's own contexts do not change, but that of `…/current` is about to.
    const moves = cluster.name === currentContextName;
    if (moves) this.#files.putCluster({ ...cluster, name: previousContextName }, cluster.name);
    const previous = contextTo(moves ? previousContextName : cluster.name, { ...context, name: previousContextName });
    this.#files.putContext(previous, context.name);
  }

  /** Adds a context for a server. Throws when it exists and `overwrite` is false. Returns whether it existed. */
  async createContext(name: string, server: string, overwrite: boolean, makeCurrent = true): Promise<boolean> {
    const { context, cluster } = this.#current();
    const exists = this.#files.context(name) !== undefined;
    if (exists && !overwrite)
      throw new Error(`context ${JSON.stringify(name)} already exists in kubeconfig, use --overwrite to update it`);
    this.#files.putCluster(clusterAt(server, { ...cluster, name }), cluster.name);
    this.#files.putContext(contextTo(name, { ...context, name }), context.name);
    if (makeCurrent) await this.#switchTo(name);
    else await this.#files.save();
    return exists;
  }

  async #switchTo(context: string): Promise<void> {
    this.#currentContext = context;
    this.#files.currentContext = context;
    await this.#files.save();
  }

  #current(): { readonly context: Context; readonly cluster: Cluster } {
    const name = this.#currentContext ?? '';
    if (name === '') throw new Error('the kubeconfig has no current context');
    const context = this.#files.context(name);
    if (context === undefined) throw new Error(`no context exists with the name: ${JSON.stringify(name)}`);
    const cluster = this.#files.cluster(context.context.cluster);
    if (cluster === undefined)
      throw new Error(
        `cluster ${JSON.stringify(context.context.cluster)} of context ${JSON.stringify(name)} does not exist`,
      );
    return { context, cluster };
  }
}

const contextTo = (cluster: string, entry: Context): Context => ({ ...entry, context: { ...entry.context, cluster } });
const clusterAt = (server: string, entry: Cluster): Cluster => ({ ...entry, cluster: { ...entry.cluster, server } });
