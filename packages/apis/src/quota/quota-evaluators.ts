import { claimEvaluator } from './claim-evaluator.ts';
import { objectCountEvaluator } from './object-count.ts';
import { podEvaluator } from './pod-evaluator.ts';
import type { QuotaEvaluator } from './quota-evaluator.ts';
import { serviceEvaluator } from './service-evaluator.ts';

/** Resources of the core group of which quotas count more than the number of objects. */
export const contentEvaluators: ReadonlyMap<string, QuotaEvaluator> = new Map([
  ['pods', podEvaluator],
  ['persistentvolumeclaims', claimEvaluator],
  ['services', serviceEvaluator],
]);

export const quotaEvaluatorOf = (group: string, resource: string): QuotaEvaluator =>
  (group === '' ? contentEvaluators.get(resource) : undefined) ?? objectCountEvaluator(group, resource);
