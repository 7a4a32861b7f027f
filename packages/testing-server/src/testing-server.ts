import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeYaml, type KubeObject, type LogicalClusterName } from '@multiplane/apimachinery';
import {
  readClientConfig,
  readKubeconfig,
  RestClient,
  RestTransport,
  type ClientConfig,
  type Kubeconfig,
} from '@multiplane/client';
import { systemClock, type Clock } from '@multiplane/component-base';
import { findCommand } from './find-command.ts';
import { GuardedProcess } from './guarded-process.ts';
import { programFolders, serverEnvironment } from './options.ts';
import { TestingWorkspace } from './testing-workspace.ts';
import { until } from './until.ts';

export interface TestingServerOptions {
  /** The command with its first arguments; by default `multiplane` of the project, or on the PATH. */
  readonly command?: readonly string[] | undefined;
  /** Further flags of `multiplane start`. */
  readonly flags?: readonly string[] | undefined;
  /** Milliseconds until a start has failed; 30 s. A start takes about one second. */
  readonly startTimeoutMs?: number | undefined;
}

const workspaces = { group: 'tenancy.kcp.io', version: 'v1alpha1', resource: 'workspaces' };
const logLines = 20;

/**
 * A control plane in memory, in a process and at a port of its own, for one test or several. It ends with {@link stop}, with
 * `await using`, or with this process, however that ends.
 */
export class TestingServer implements AsyncDisposable {
  /** The server without a path. */
  readonly url: string;
  /** File with the administrator's credentials, for the workspace `root`. */
  readonly kubeconfig: string;
  readonly #folder: string;
  readonly #process: GuardedProcess;
  readonly #clock: Clock;
  readonly #transport: RestTransport;

  private constructor(
    { folder, config, kubeconfig }: { folder: string; config: ClientConfig; kubeconfig: string },
    modules: { readonly process: GuardedProcess; readonly clock: Clock },
  ) {
    this.#folder = folder;
    this.#process = modules.process;
    this.#clock = modules.clock;
    this.url = new URL(config.server).origin;
    this.kubeconfig = kubeconfig;
    this.#transport = new RestTransport({ config, userAgent: 'multiplane-testing-server' });
  }

  /** Resolves when it serves. Throws with the end of its log when it does not. */
  static async start(
    options: TestingServerOptions = {},
    { clock = systemClock }: { clock?: Clock } = {},
  ): Promise<TestingServer> {
    const { flags = [], startTimeoutMs = 30_000 } = options;
    const [program, ...first] = options.command ?? [findCommand({ folder: process.cwd(), path: programFolders() })];
    if (program === undefined) throw new RangeError('invalid command: at least one word is required');
    const folder = await mkdtemp(join(tmpdir(), 'multiplane-'));
    const kubeconfig = join(folder, 'root', 'admin.kubeconfig');
    const start = ['start', '--root-directory', join(folder, 'root'), '--storage-backend=memory'];
    const address = ['--bind-address=127.0.0.1', '--secure-port=0', '--console=false'];
    const server = new GuardedProcess({
      command: [program, ...first, ...start, ...address, ...flags],
      environment: serverEnvironment(),
      folder,
      logFile: join(folder, 'log'),
    });
    const ended = new AbortController();
    void server.ended.then((code) => ended.abort(new Error(`it ended with code ${code}`)));
    try {
      const config = await until(() => readyConfig(kubeconfig), {
        timeoutMs: startTimeoutMs,
        signal: ended.signal,
        clock,
      });
      return new TestingServer({ folder, config, kubeconfig }, { process: server, clock });
    } catch (cause) {
      const end = server.log.trimEnd().split('\n').slice(-logLines).join('\n');
      await server.stop();
      throw new Error(`failed to start ${program}: ${(cause as Error).message}\n${end}`, { cause });
    }
  }

  /** What the server has logged. */
  get log(): string {
    return this.#process.log;
  }

  /** Creates a workspace, such as `root:provider`, below one that exists, and waits until it is ready. */
  async createWorkspace(
    path: string,
    { type }: { readonly type?: { readonly name: string; readonly path: string } } = {},
  ): Promise<TestingWorkspace> {
    const [, parent = '', name = ''] = /^(.+):([^:]+)$/.exec(path) ?? [];
    if (name === '')
      throw new RangeError(`invalid workspace ${JSON.stringify(path)}: <path of its parent>:<name> is required`);
    const workspace: KubeObject = {
      apiVersion: 'tenancy.kcp.io/v1alpha1',
      kind: 'Workspace',
      metadata: { name },
      ...(type === undefined ? {} : { spec: { type } }),
    };
    const client = new RestClient({ transport: this.#transport });
    const cluster = parent as LogicalClusterName;
    await client.create(workspaces, cluster, workspace, { waitSeconds: 10 });
    await until(
      async () => {
        const { status } = (await client.get(workspaces, { cluster, namespace: '', name })) as {
          status?: { phase?: string };
        };
        if (status?.phase !== 'Ready') throw new Error(`the workspace ${path} is ${status?.phase ?? 'new'}`);
      },
      { clock: this.#clock },
    );
    return this.workspace(path);
  }

  /** A workspace that exists. */
  async workspace(path: string): Promise<TestingWorkspace> {
    const admin = readKubeconfig(this.kubeconfig);
    const user = admin.contexts.find(({ name }) => name === 'root')?.context.user ?? '';
    const root = admin.clusters.find(({ name }) => name === 'root')?.cluster;
    const kubeconfig: Kubeconfig = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': path,
      clusters: [{ name: path, cluster: { ...root, server: `${this.url}/clusters/${path}` } }],
      contexts: [{ name: path, context: { cluster: path, user } }],
      users: admin.users.filter(({ name }) => name === user),
    };
    const file = join(this.#folder, `${encodeURIComponent(path)}.kubeconfig`);
    await writeFile(file, encodeYaml(kubeconfig), { mode: 0o600 });
    return new TestingWorkspace({ path, kubeconfig: file }, { transport: this.#transport, clock: this.#clock });
  }

  /** Ends the server, which forgets everything. */
  async stop(): Promise<void> {
    this.#transport.close();
    await this.#process.stop();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

/** The administrator's configuration. Throws while the server does not serve. */
async function readyConfig(kubeconfig: string): Promise<ClientConfig> {
  const config = readClientConfig({ file: kubeconfig, context: 'root' });
  const transport = new RestTransport({ config });
  try {
    const response = await transport.open({ method: 'GET', path: '/readyz' });
    response.resume();
    if (response.statusCode !== 200) throw new Error(`/readyz answers ${response.statusCode}`);
    return config;
  } finally {
    transport.close();
  }
}

/** Starts a control plane in memory: {@link TestingServer}. */
export const startTestingServer = (options?: TestingServerOptions): Promise<TestingServer> =>
  TestingServer.start(options);
