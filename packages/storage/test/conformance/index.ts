import { describe } from '@jest/globals';
import { compactionConformance } from './compaction.ts';
import { createConformance } from './create.ts';
import { deleteConformance } from './delete.ts';
import { faultsConformance } from './faults.ts';
import { getConformance } from './get.ts';
import { listConformance } from './list.ts';
import { modelConformance } from './model.ts';
import type { Limits, MakeStore } from './subject.ts';
import { ttlConformance } from './ttl.ts';
import { updateConformance } from './update.ts';
import { watchConformance } from './watch.ts';

export type { Limits, MakeStore } from './subject.ts';

export interface ConformanceOptions {
  /** Number of random sequences that are compared with the model. */
  readonly modelRuns?: number;
  /** Optional parts of the contract that the store does not have. */
  readonly without?: Limits | undefined;
}

/**
 * The contract of `Storage` as tests, for every backend and the watch cache over each of them. `makeStore` is called before
 * every test, and its result is closed after it. Tests may share a server: only the keys below `/registry/` must be empty, and
 * revisions need not be dense.
 */
export function storageConformance(name: string, makeStore: MakeStore, options: ConformanceOptions = {}): void {
  describe(`storage conformance: ${name}`, () => {
    const { without = {} } = options;
    getConformance(makeStore);
    listConformance(makeStore, without);
    createConformance(makeStore);
    updateConformance(makeStore);
    deleteConformance(makeStore);
    watchConformance(makeStore, without);
    compactionConformance(makeStore, without);
    ttlConformance(makeStore, without);
    faultsConformance(makeStore);
    modelConformance(makeStore, options.modelRuns ?? 60, without);
  });
}
