import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { eventually } from '@multiplane/testing';
import { node } from '../api/server-process.ts';

export interface WatchDeliveriesOptions {
  readonly port: number;
  readonly token: string;
  /** Of the watch, or `@<file>` with one path of each watcher in a line. */
  readonly path: string;
  readonly watchers: number;
  readonly connections: number;
}

type Took = readonly (readonly [ms: number, deliveries: number])[];

/** Deliveries of watch events to many watchers in another process (`api/watchers.ts`), and how long they took. */
export class WatchDeliveries {
  readonly #child: ChildProcess;
  #output = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
  }

  /** Resolves when all watchers watch. */
  static async start({ port, token, path, watchers, connections }: WatchDeliveriesOptions): Promise<WatchDeliveries> {
    const program = join(import.meta.dirname, '..', 'api', 'watchers.ts');
    const words = [port, token, path, watchers, connections].map(String);
    const deliveries = new WatchDeliveries(
      spawn(node, [program, ...words], {
        stdio: ['pipe', 'pipe', 'inherit'],
        env: { ...process.env, NODE_OPTIONS: '' },
      }),
    );
    await eventually(
      () => {
        if (!deliveries.#output.includes('ready')) throw new Error('not all watchers are there');
      },
      { timeout: 120_000 },
    );
    return deliveries;
  }

  /** Forgets what was delivered so far. */
  reset(): void {
    this.#output = '';
  }

  get count(): number {
    return this.#took.reduce((sum, [, deliveries]) => sum + deliveries, 0);
  }

  /** Watchers whose watch has ended. */
  get ended(): number {
    return Math.max(0, ...this.#seconds.map(({ ended }) => ended));
  }

  /** The milliseconds within which a share of all deliveries was there. */
  within(share: number): number {
    let left = this.count * share;
    for (const [ms, deliveries] of this.#took.toSorted(([a], [b]) => a - b)) if ((left -= deliveries) <= 0) return ms;
    return 0;
  }

  stop(): void {
    this.#child.stdin?.end();
  }

  get #seconds(): readonly { readonly took: Took; readonly ended: number }[] {
    return this.#output
      .split('\n')
      .filter((line) => line.startsWith('{') && line.endsWith('}'))
      .map((line) => JSON.parse(line) as { took: Took; ended: number });
  }

  get #took(): Took {
    return this.#seconds.flatMap(({ took }) => took);
  }
}
