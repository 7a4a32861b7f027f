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
  /** Random sequences played against the model. */
  readonly modelRuns?: number;
  /** What the store does not have of the contract's optional parts. */
  readonly without?: Limits | undefined;
}

/**
 * The contract of `Storage` as tests. Call it in a test file of every backend and of the watch cache over each of them;
 * `makeStore` is called before every test and its result closed after it. Backends may share one server among tests: only
 * what is below `/registry/` must be empty, and revisions need not be dense.
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
