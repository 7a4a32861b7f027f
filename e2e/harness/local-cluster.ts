import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChildServer, freePorts, TempDir } from '@multiplane/testing';
import type { ControlPlane } from './control-plane.ts';
import { LocalAccess } from './local-access.ts';

const repository = join(import.meta.dirname, '..', '..');

/** Users of the token file: no rights of their own, and one in system:masters. */
export const testTokens = {
  masters: 'masters-token',
  'user-1': 'user-1-token',
  'user-2': 'user-2-token',
  'user-3': 'user-3-token',
} as const;

/** Flags of a control plane that serves workspace mounts and workspace authentication. */
export const optionalApis = ['--feature-gates=WorkspaceMounts=true,WorkspaceAuthentication=true'];

const plainTokens = ['user-1', 'user-2', 'user-3'].map((user, i) => `${user}-token,${user},${i + 2}`);

/** A token file: every right for `masters`, then these lines. */
export const tokenFileText = (tokens: readonly string[] = plainTokens): string =>
  [`${testTokens.masters},admin,1,"system:masters"`, ...tokens, ''].join('\n');

export interface LocalClusterOptions {
  /** Further flags of `multiplane start`, or of each shard. */
  readonly flags?: readonly string[] | undefined;
  /** Lines of the token file (`token,user,uid,"group"`) in place of those of the users without rights. */
  readonly tokens?: readonly string[] | undefined;
  /** Called with the root directory before the first start. */
  readonly prepare?: ((rootDirectory: string) => void) | undefined;
  /** Environment variables of the process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** With the exports of Kubernetes' own kinds in root: half of the processor time of a first start. Default: false. */
  readonly nativeKinds?: boolean | undefined;
  /** Records long turns of the event loop, see {@link LocalCluster.takeTurns}. */
  readonly recordsTurns?: boolean | undefined;
  /** Milliseconds until a start has failed; 60 s. */
  readonly startTimeout?: number | undefined;
}

/** A turn of a server's event loop, in milliseconds. */
export interface LongTurn {
  /** Processor time. */
  readonly ms: number;
  /** Of it garbage collection, by the clock. */
  readonly gcMs: number;
  /** With MULTIPLANE_TEST_TURN_STACKS=1: samples and functions, the most frequent first. */
  readonly stacks?: readonly string[] | undefined;
}

/** The environment of a server that records its turns in a file. */
const recorder = (file: string): string[] => [
  `NODE_OPTIONS=--import=${join(import.meta.dirname, 'turn-recorder.mjs')}`,
  `MULTIPLANE_TEST_TURNS=${file}`,
];

/** A whole control plane as its users run it: `bin/multiplane start` in a folder of its own. */
export class LocalCluster extends LocalAccess implements ControlPlane {
  readonly #directory: TempDir;
  readonly #server: ChildServer;
  private constructor(directory: TempDir, port: number, options: LocalClusterOptions) {
    super({ directory: directory.path, port });
    const { flags = [], tokens, nativeKinds = false, recordsTurns = false, startTimeout = 60_000, env } = options;
    options.prepare?.(directory.join('root'));
    this.#directory = directory;
    writeFileSync(directory.join('tokens.csv'), tokenFileText(tokens), { mode: 0o600 });
    this.#server = new ChildServer({
      name: 'multiplane',
      command: '/usr/bin/env',
      args: [
        ...(recordsTurns ? recorder(directory.join('turns')) : []),
        join(repository, 'bin', 'multiplane'),
        'start',
        '--root-directory',
        directory.join('root'),
        '--bind-address',
        '127.0.0.1',
        '--secure-port',
        String(port),
        '--token-auth-file',
        directory.join('tokens.csv'),
        ...(nativeKinds ? [] : ['--batteries-included=-native-kinds']),
        ...flags,
      ],
      startTimeout,
      env,
      logFile: directory.join('server.log'),
      probe: () => this.ready('shard-base'),
    });
  }

  static async start(options: LocalClusterOptions = {}): Promise<LocalCluster> {
    const [port] = await freePorts(1);
    const cluster = new LocalCluster(await TempDir.create('e2e'), port as number, options);
    await cluster.#server.start();
    return cluster;
  }

  /** The process, for tests that kill, freeze or restart it. */
  get process(): ChildServer {
    return this.#server;
  }
  /** The event loop's turns of 20 ms and more, since the last call. */
  takeTurns(): LongTurn[] {
    const file = this.#directory.join('turns');
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    rmSync(file);
    return lines.map((line) => JSON.parse(line) as LongTurn);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
    await this.#directory.remove();
  }
}
