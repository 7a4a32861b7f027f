import { createInterface } from 'node:readline';
import type { JsonObject } from '@multiplane/apimachinery';
import type { RestTransport } from '@multiplane/client';
import { newWorkspace, post, workspacesIn } from './load.ts';

interface WorkspaceEvent {
  readonly object: { readonly metadata: { readonly name: string }; readonly status?: { readonly phase?: string } };
}

export interface ReadyTimesOptions {
  /** Logical cluster of their parent. */
  readonly parent?: string | undefined;
  readonly spec?: JsonObject | undefined;
}

/** Makes workspaces of type universal, and notes by a watch how long after it was asked for each is Ready. */
export class ReadyTimes {
  readonly milliseconds: number[] = [];
  readonly #transport: RestTransport;
  readonly #prefix: string;
  readonly #path: string;
  readonly #spec: JsonObject;
  readonly #begun = new Map<string, number>();
  readonly #abort = new AbortController();
  #wake: (() => void) | undefined;

  constructor(transport: RestTransport, prefix: string, { parent = 'root', spec = {} }: ReadyTimesOptions = {}) {
    this.#transport = transport;
    this.#prefix = prefix;
    this.#path = workspacesIn(parent);
    this.#spec = spec;
  }

  async open(): Promise<void> {
    const response = await this.#transport.open({
      method: 'GET',
      path: `${this.#path}?watch=true&labelSelector=bench%3D${this.#prefix}`,
      signal: this.#abort.signal,
      longRunning: true,
    });
    const lines = createInterface({ input: response, crlfDelay: Number.POSITIVE_INFINITY });
    lines.on('line', (line) => this.#see(line));
    lines.on('error', (error) => {
      if (!this.#abort.signal.aborted) throw error;
    });
  }

  async begin(index: number): Promise<void> {
    const workspace = newWorkspace(this.#prefix, index, this.#spec);
    this.#begun.set(workspace.metadata.name, performance.now());
    await post(this.#transport, this.#path, workspace);
  }

  async all(count: number): Promise<void> {
    while (this.milliseconds.length < count) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  close(): void {
    this.#abort.abort();
  }

  #see(line: string): void {
    const { object } = JSON.parse(line) as WorkspaceEvent;
    const began = this.#begun.get(object.metadata.name);
    if (object.status?.phase !== 'Ready' || began === undefined) return;
    this.#begun.delete(object.metadata.name);
    this.milliseconds.push(performance.now() - began);
    this.#wake?.();
  }
}
