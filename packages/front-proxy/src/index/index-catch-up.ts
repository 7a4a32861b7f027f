import { asLogicalClusterName, isStatusError } from '@multiplane/apimachinery';
import { RestClient, type RestTransport } from '@multiplane/client';
import type { Clock, Logger } from '@multiplane/component-base';
import { logicalClusters, workspaceEntry, workspaces } from './indexed-resources.ts';
import type { NextStep, WorkspaceIndex } from './workspace-index.ts';

export interface IndexCatchUpOptions {
  /** Requests to shards at the same time; a path beyond them counts as missing. */
  readonly inFlight: number;
  /** How long the index may take to receive an object that a shard has, in milliseconds. */
  readonly waitMs: number;
}

export const defaultIndexCatchUpOptions: IndexCatchUpOptions = { inFlight: 32, waitMs: 3_000 };

export interface IndexCatchUpModules {
  readonly index: WorkspaceIndex;
  /** A privileged transport to a shard; undefined for an unknown shard. */
  readonly transportOf: (shard: string) => RestTransport | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Makes a missing path a consistent read: a client that saw a workspace become Ready may use it at once, although the watches
 * that fill the index lag behind the shard that showed it.
 *
 * ```
 *   the first step of the path that the index lacks ── shard: no such object ──→ missing
 *     └ a shard has it → wait for the watch to deliver it → the next step
 * ```
 * The object is not put into the index from the response: the watch may have delivered its deletion already. Callers are not
 * authenticated, so at most `inFlight` requests run; a missing path costs one request, or one to each shard if its first
 * segment is unknown.
 */
export class IndexCatchUp {
  readonly #options: IndexCatchUpOptions;
  readonly #modules: IndexCatchUpModules;
  #running = 0;

  constructor(options: IndexCatchUpOptions, modules: IndexCatchUpModules) {
    this.#options = options;
    this.#modules = modules;
  }

  /** Resolves to true once the index has the valid path, false if there is no such workspace. Never rejects. */
  async reaches(path: string): Promise<boolean> {
    const { index } = this.#modules;
    if (this.#running >= this.#options.inFlight) return false;
    this.#running++;
    try {
      for (;;) {
        const step = index.nextStep(path);
        if (step === undefined) return true;
        if (!(await this.#exists(step))) return false;
        if (!(await this.#delivered(path, step))) return false;
      }
    } finally {
      this.#running--;
    }
  }

  async #exists(step: NextStep): Promise<boolean> {
    const { cluster, name } = step;
    const resource = name === undefined ? logicalClusters : workspaces;
    const shards = step.shard === undefined ? this.#modules.index.shardNames : [step.shard];
    const found = await Promise.all(shards.map((shard) => this.#read(shard, resource, cluster, name ?? 'cluster')));
    return found.some((each) => each);
  }

  async #read(shard: string, resource: typeof workspaces, cluster: string, name: string): Promise<boolean> {
    const transport = this.#modules.transportOf(shard);
    if (transport === undefined) return false;
    try {
      const reference = { cluster: asLogicalClusterName(cluster), namespace: '', name };
      const object = await new RestClient({ transport }).get(resource, reference);
      if (resource !== workspaces) return true;
      const entry = workspaceEntry(object, cluster);
      return entry.phase !== 'Scheduling' && (entry.cluster ?? entry.mountUrl ?? '') !== '';
    } catch (error) {
      if (!isStatusError(error, 'NotFound'))
        this.#modules.logger.debug('failed to look up a workspace', { shard, error });
      return false;
    }
  }

  /** Waits until the index has the object of a step. */
  async #delivered(path: string, step: NextStep): Promise<boolean> {
    const { index, clock } = this.#modules;
    const deadline = clock.monotonic() + this.#options.waitMs;
    const timeout = Promise.withResolvers<void>();
    const timer = clock.after(this.#options.waitMs, () => timeout.resolve());
    try {
      for (;;) {
        const next = index.nextStep(path);
        if (next === undefined || next.cluster !== step.cluster || next.name !== step.name) return true;
        if (clock.monotonic() >= deadline) return false;
        await Promise.race([index.changed(), timeout.promise]);
      }
    } finally {
      timer.cancel();
    }
  }
}
