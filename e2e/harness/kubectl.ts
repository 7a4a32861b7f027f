import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, test } from '@jest/globals';
import { errorText } from '@multiplane/apimachinery';
import { eventually, findBinary, TempDir, skippedTitle } from '@multiplane/testing';

/** The folder of kubectl's plugins. */
export const plugins = join(import.meta.dirname, '..', '..', 'bin');
/** `wait --for=create` is the youngest flow of the suites. */
const oldestMinor = 31;

/**
 * Collecting garbage is a quarter of the processor time of a kubectl that lives for a tenth of a second: Go begins with it at
 * 4 MiB, which kubectl needs to start.
 */
export const shortProcess = { GOGC: '400' } as const;

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface KubectlRunOptions {
  readonly stdin?: string | undefined;
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Who a kubeconfig is for. */
export interface KubeconfigSettings {
  /** With the workspace: `https://host:port/clusters/root:a`. */
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  readonly namespace?: string | undefined;
}

/** The machine's real kubectl with a home, a cache and a kubeconfig of its own; `bin/` is on its PATH. */
export class Kubectl implements AsyncDisposable {
  readonly #home: TempDir;
  readonly kubeconfig: string;
  private constructor(home: TempDir) {
    this.#home = home;
    this.kubeconfig = home.join('kubeconfig');
  }

  /** For one user in one workspace, or with a copy of an existing kubeconfig. */
  static async create(settings: KubeconfigSettings | { readonly copyOf: string }): Promise<Kubectl> {
    const kubectl = new Kubectl(await TempDir.create('kubectl'));
    writeFileSync(kubectl.kubeconfig, 'copyOf' in settings ? readFileSync(settings.copyOf) : kubeconfigText(settings), {
      mode: 0o600,
    });
    return kubectl;
  }

  /** A file in the folder of this kubectl; returns its path. */
  file(name: string, content: string, mode = 0o600): string {
    const path = this.#home.join(name);
    writeFileSync(path, content, { mode });
    return path;
  }

  /** Runs to the end, whatever the outcome. */
  async run(args: readonly string[], options: KubectlRunOptions = {}): Promise<KubectlResult> {
    const child = this.#spawn(args, options);
    const [stdout, stderr] = [collected(child, 'stdout'), collected(child, 'stderr')];
    child.stdin?.end(options.stdin ?? '');
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (exit) => resolve(exit ?? -1));
    });
    return { code, stdout: stdout.text, stderr: stderr.text };
  }

  /** Standard output of a command that must succeed. */
  async ok(args: readonly string[], options: KubectlRunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}:\n${stderr}${stdout}`);
    return stdout;
  }

  /** Standard output of a command that must succeed and deletes, without the namespaces that newer kubectl names. */
  async deletes(args: readonly string[], options: KubectlRunOptions = {}): Promise<string> {
    return (await this.ok(args, options)).replaceAll(/ deleted from \S+ namespace/g, ' deleted');
  }

  /** Standard error of a command that must fail. */
  async fails(args: readonly string[], options: KubectlRunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, options);
    if (code === 0) throw new Error(`kubectl ${args.join(' ')} succeeded:\n${stdout}`);
    return stderr;
  }

  /** What a command with `-o json` prints. */
  async json<T = Record<string, unknown>>(args: readonly string[], options: KubectlRunOptions = {}): Promise<T> {
    return JSON.parse(await this.ok([...args, '-o', 'json'], options)) as T;
  }

  /** Applies objects from standard input. */
  apply(...objects: object[]): Promise<string> {
    return this.ok(['apply', '-f', '-'], { stdin: documents(...objects) });
  }

  create(...objects: object[]): Promise<string> {
    return this.ok(['create', '-f', '-'], { stdin: documents(...objects) });
  }

  /** A command that goes on until it is stopped. */
  start(args: readonly string[]): RunningKubectl {
    return new RunningKubectl(this.#spawn(args, {}), args);
  }

  #spawn(args: readonly string[], { cwd, env }: KubectlRunOptions): ChildProcess {
    return spawn(findBinary('kubectl'), args, {
      cwd: cwd ?? this.#home.path,
      stdio: 'pipe',
      env: {
        PATH: `${plugins}${delimiter}${process.env['PATH'] ?? ''}`,
        HOME: this.#home.path,
        KUBECONFIG: this.kubeconfig,
        KUBECACHEDIR: this.#home.join('cache'),
        TZ: 'UTC',
        LANG: 'C.UTF-8',
        ...shortProcess,
        ...env,
      },
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#home.remove();
  }
}

/** A kubectl that still runs, for `-w` and `wait`. */
export class RunningKubectl implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #args: readonly string[];
  readonly #stdout: { text: string };
  readonly #stderr: { text: string };
  readonly #closed: Promise<number>;
  constructor(child: ChildProcess, args: readonly string[]) {
    this.#child = child;
    this.#args = args;
    this.#stdout = collected(child, 'stdout');
    this.#stderr = collected(child, 'stderr');
    this.#closed = new Promise((resolve) => child.once('close', (code) => resolve(code ?? -1)));
    child.stdin?.end();
  }

  get stdout(): string {
    return this.#stdout.text;
  }

  /** Waits until the output holds a text. */
  async prints(text: string | RegExp): Promise<void> {
    await eventually(
      () => {
        const found = typeof text === 'string' ? this.stdout.includes(text) : text.test(this.stdout);
        if (!found)
          throw new Error(
            `kubectl ${this.#args.join(' ')} has printed\n${this.stdout}${this.#stderr.text}\nand not ${String(text)}`,
          );
      },
      { timeout: 15_000 },
    );
  }

  /** The end of a command that ends by itself. */
  async ended(): Promise<KubectlResult> {
    const code = await this.#closed;
    return { code, stdout: this.stdout, stderr: this.#stderr.text };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

/** Objects as one stream of JSON documents. */
export function documents(...objects: object[]): string {
  return objects.map((object) => JSON.stringify(object)).join('\n');
}

/** Cells of a table that kubectl printed, by row; columns are two or more spaces apart. */
export function cells(table: string): string[][] {
  return table
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd().split(/\s{2,}/));
}

function kubeconfigText({ server, ca, token, namespace }: KubeconfigSettings): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'e2e', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: 'e2e', user: { token } }],
    contexts: [
      { name: 'e2e', context: { cluster: 'e2e', user: 'e2e', ...(namespace === undefined ? {} : { namespace }) } },
    ],
    'current-context': 'e2e',
  });
}

function collected(child: ChildProcess, stream: 'stdout' | 'stderr'): { text: string } {
  const sink = { text: '' };
  child[stream]?.setEncoding('utf8').on('data', (chunk: string) => (sink.text += chunk));
  return sink;
}

/** Why the suites over kubectl cannot run here; undefined when they can. */
function findProblem(): string | undefined {
  try {
    const version = JSON.parse(
      execFileSync(findBinary('kubectl'), ['version', '--client', '-o', 'json'], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      }),
    ) as { clientVersion: { minor: string; gitVersion: string } };
    return Number.parseInt(version.clientVersion.minor, 10) >= oldestMinor
      ? undefined
      : `kubectl ${version.clientVersion.gitVersion} is older than 1.${oldestMinor}; put a newer one on the PATH`;
  } catch (error) {
    return errorText(error).replace('missing prerequisite: ', '');
  }
}

const problem = findProblem();

/** `describe` for tests that need a kubectl; where there is none that will do, one skipped test tells the reason. */
export function describeWithKubectl(name: string, tests: () => void): void {
  // oxlint-disable-next-line jest/valid-title, jest/valid-describe-callback -- passed on
  if (problem === undefined) return describe(name, tests);
  // oxlint-disable-next-line jest/no-disabled-tests, jest/expect-expect, jest/valid-title -- the title is the message
  test.skip(skippedTitle(name, problem), () => undefined);
}
