import { describe } from '@jest/globals';
import { compactionConformance } from './compaction.ts';
import { createConformance } from './create.ts';
import { deleteConformance } from './delete.ts';
import { faultsConformance } from './faults.ts';
import { getConformance } from './get.ts';
import { listConformance } from './list.ts';
import { modelConformance } from './model.ts';
import type { MakeStore } from './subject.ts';
import { ttlConformance } from './ttl.ts';
import { updateConformance } from './update.ts';
import { watchConformance } from './watch.ts';

export type { MakeStore } from './subject.ts';

export interface ConformanceOptions {
  /** Random sequences played against the model. */
  readonly modelRuns?: number;
}

/**
 * The contract of `Storage` as tests. Call it in a test file of every backend and of the watch cache over each of them;
 * `makeStore` is called before every test and its result closed after it. Backends may share one server among tests: only
 * what is below `/registry/` must be empty, and revisions need not be dense.
 */
export function storageConformance(name: string, makeStore: MakeStore, options: ConformanceOptions = {}): void {
  describe(`storage conformance: ${name}`, () => {
    getConformance(makeStore);
    listConformance(makeStore);
    createConformance(makeStore);
    updateConformance(makeStore);
    deleteConformance(makeStore);
    watchConformance(makeStore);
    compactionConformance(makeStore);
    ttlConformance(makeStore);
    faultsConformance(makeStore);
    modelConformance(makeStore, options.modelRuns ?? 60);
  });
}
