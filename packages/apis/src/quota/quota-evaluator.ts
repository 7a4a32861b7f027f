import type { DeepReadonly, KubeObject, Quantity } from '@multiplane/apimachinery';
import type { ScopeRequirement } from './scope-requirements.ts';

/** Amounts by the name of a resource, as in `spec.hard` of a quota. */
export type QuotaAmounts = ReadonlyMap<string, Quantity>;

/** A write as far as an evaluator needs it to decide whether the write can change what a quota counts. */
export interface QuotaWrite {
  readonly operation: 'CREATE' | 'UPDATE';
  readonly subresource: string;
  readonly object: DeepReadonly<KubeObject>;
  readonly oldObject: DeepReadonly<KubeObject> | undefined;
}

/**
 * What the objects of one resource use of a quota (quota.Evaluator of k8s.io/apiserver). Objects may come from a custom
 * resource definition with any schema, so a field of an unexpected type counts as absent.
 */
export interface QuotaEvaluator {
  /** Needs the content of the objects; otherwise their number is enough. */
  readonly readsContent: boolean;
  handles(write: QuotaWrite): boolean;
  /** Whether a name in `spec.hard` is an amount of this resource. */
  counts(name: string): boolean;
  matches(requirement: ScopeRequirement, object: DeepReadonly<KubeObject>): boolean;
  /** `nowMs`: milliseconds since 1970. */
  usage(object: DeepReadonly<KubeObject>, nowMs: number): QuotaAmounts;
  /** Why an object is refused that does not state an amount which the quota limits. */
  constraint?(limited: readonly string[], object: DeepReadonly<KubeObject>): string | undefined;
}
