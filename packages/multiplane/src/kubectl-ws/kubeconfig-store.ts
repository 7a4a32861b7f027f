import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { encodeYaml } from '@multiplane/apimachinery';
import { clientConfigOf, readKubeconfig, type ClientConfig, type Kubeconfig } from '@multiplane/client';
import { writeFileAtomic } from '@multiplane/component-base';

export const currentContextName = 'workspace.kcp.io/current';
export const previousContextName = 'workspace.kcp.io/previous';

/** Which file is meant: the flag, the first file of KUBECONFIG, or the one in the home directory. */
export function kubeconfigFile(
  flag: string | undefined,
  environment: { readonly KUBECONFIG?: string | undefined },
): string {
  if (flag !== undefined) return flag;
  const first = environment.KUBECONFIG?.split(delimiter).find((file) => file !== '');
  return first ?? join(homedir(), '.kube', 'config');
}

/** The kubeconfig that `kubectl ws` works on: reads the current workspace, moves to another, goes back. */
export class KubeconfigStore {
  readonly #file: string;
  #config: Kubeconfig;
  readonly #user: string | undefined;
  constructor(options: {
    readonly file: string;
    readonly context?: string | undefined;
    /** A user of the file, in place of the context's own. */
    readonly user?: string | undefined;
  }) {
    this.#file = options.file;
    this.#user = options.user;
    this.#config = readKubeconfig(options.file);
    if (options.context !== undefined) this.#config = { ...this.#config, 'current-context': options.context };
  }

  /** Server URL of the current context. */
  get server(): string {
    return this.client().server;
  }

  client(): ClientConfig {
    const name = this.#config['current-context'];
    const user = this.#user;
    if (user === undefined) return clientConfigOf(this.#config, this.#file);
    if (!this.#config.users.some((entry) => entry.name === user))
      throw new Error(`auth info ${JSON.stringify(user)} does not exist`);
    const contexts = this.#config.contexts.map((entry) =>
      entry.name === name ? { ...entry, context: { ...entry.context, user } } : entry,
    );
    return clientConfigOf({ ...this.#config, contexts }, this.#file);
  }

  /** Server URL of the context before the last move. */
  get previousServer(): string | undefined {
    const context = this.#config.contexts.find(({ name }) => name === previousContextName)?.context;
    return this.#config.clusters.find(({ name }) => name === context?.cluster)?.cluster.server;
  }

  /** Points the context `workspace.kcp.io/current` at a server and makes it current; where it was before is `…/previous`. */
  async use(server: string): Promise<void> {
    const { context, cluster } = this.#current();
    const config = this.#config;
    const before = config['current-context'] === currentContextName ? previousContextName : context.cluster;
    if (before === previousContextName) this.#put(config.clusters, { name: previousContextName, cluster });
    this.#put(config.contexts, { name: previousContextName, context: { ...context, cluster: before } });
    this.#put(config.clusters, { name: currentContextName, cluster: { ...cluster, server } });
    this.#put(config.contexts, { name: currentContextName, context: { ...context, cluster: currentContextName } });
    this.#config = { ...config, 'current-context': currentContextName };
    await this.#save();
  }

  /** Adds a context for a server. Throws when there is one and it may not be replaced. Returns whether it was there. */
  async createContext(name: string, server: string, overwrite: boolean, makeCurrent = true): Promise<boolean> {
    const { context, cluster } = this.#current();
    const exists = this.#config.contexts.some((entry) => entry.name === name);
    if (exists && !overwrite)
      throw new Error(`context ${JSON.stringify(name)} already exists in kubeconfig, use --overwrite to update it`);
    this.#put(this.#config.clusters, { name, cluster: { ...cluster, server } });
    this.#put(this.#config.contexts, { name, context: { ...context, cluster: name } });
    if (makeCurrent) this.#config = { ...this.#config, 'current-context': name };
    await this.#save();
    return exists;
  }

  #current(): {
    context: Kubeconfig['contexts'][number]['context'];
    cluster: Kubeconfig['clusters'][number]['cluster'];
  } {
    const context = this.#config.contexts.find(({ name }) => name === this.#config['current-context'])?.context;
    const cluster = this.#config.clusters.find(({ name }) => name === context?.cluster)?.cluster;
    if (context === undefined || cluster === undefined) throw new Error('the kubeconfig has no current context');
    return { context, cluster };
  }

  #put<T extends { name: string }>(entries: T[], entry: T): void {
    const at = entries.findIndex(({ name }) => name === entry.name);
    if (at < 0) entries.push(entry);
    else entries[at] = entry;
  }

  async #save(): Promise<void> {
    await writeFileAtomic(this.#file, encodeYaml(this.#config), 0o600);
  }
}
