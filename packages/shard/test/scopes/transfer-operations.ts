import type { LogicalClusterName } from '@multiplane/apimachinery';
import {
  cancelTransferAnnotation as cancel,
  forceTransferAnnotation as force,
  scopeConditionsAnnotation,
  transferAnnotation,
  type APIExportScope,
} from '@multiplane/apis';
import fc from 'fast-check';
import type { IndexedScope, ScopesByKey } from '../../src/scopes/scope-index.ts';
import { admitScopedUpdate, unknownScope, type ScopedMetadata } from '../../src/scopes/scoped-update.ts';

export const key = 'provider';
export const values = ['a', 'b', 'c'] as const;
export type Value = (typeof values)[number];
const deadlineMs = 10_000;

const scopeOf = (value: string): IndexedScope => ({
  key,
  value,
  exportCluster: 'provider',
  exportName: 'market',
  identityHash: 'identity',
  cluster: 'provider' as LogicalClusterName,
  name: value,
  object: {
    metadata: { name: value, creationTimestamp: '2020-01-01T00:00:00Z' },
    spec: {
      export: { name: 'market' },
      selector: { matchLabels: { [key]: value } },
      transfer: 'WhenFinalizersGone',
      transferDeadlineSeconds: deadlineMs / 1_000,
    },
  } as unknown as APIExportScope,
});

/** What a client asks for. A writer reads `lag` revisions too late, so that its first attempt may conflict. */
export interface Operation {
  /** `holder`: the provider in whose scope the object is. */
  readonly by: 'consumer' | 'assigner' | 'holder' | Value;
  readonly what:
    | { readonly type: 'label'; readonly to: Value | 'unknown' | undefined; readonly force: boolean }
    | { readonly type: 'finalizers'; readonly add: readonly string[]; readonly remove: readonly string[] }
    | { readonly type: 'cancel' }
    | { readonly type: 'forge' }
    | { readonly type: 'touch' };
  readonly lag: boolean;
  readonly elapsedMs: number;
}

const label = fc.record({
  type: fc.constant('label' as const),
  to: fc.constantFrom(...values, ...values, ...values, 'unknown' as const, undefined),
  force: fc.boolean(),
});
const finalizers = fc.record({
  type: fc.constant('finalizers' as const),
  add: fc.subarray(['f1', 'f2', 'f3']),
  remove: fc.subarray(['f1', 'f2', 'f3']),
});
const rare = fc.constantFrom({ type: 'forge' as const }, { type: 'touch' as const });

/** Mostly what makes progress: finalizers by the scope that has the object, labels by users who may assign. */
export const operations: fc.Arbitrary<Operation[]> = fc.array(
  fc
    .oneof(
      { weight: 3, arbitrary: fc.record({ by: fc.constant('holder' as const), what: finalizers }) },
      { weight: 3, arbitrary: fc.record({ by: fc.constant('assigner' as const), what: label }) },
      {
        weight: 1,
        arbitrary: fc.record({
          by: fc.constantFrom('assigner' as const, 'holder' as const, 'consumer' as const),
          what: fc.constant({ type: 'cancel' as const }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          by: fc.constantFrom('consumer' as const, ...values),
          what: fc.oneof(label, finalizers, rare),
        }),
      },
    )
    .chain((chosen) =>
      fc.record({
        by: fc.constant<Operation['by']>(chosen.by),
        what: fc.constant<Operation['what']>(chosen.what),
        lag: fc.boolean(),
        elapsedMs: fc.constantFrom(0, 1_000, deadlineMs + 1),
      }),
    ),
  { maxLength: 30 },
);

export function proposed(old: ScopedMetadata, what: Operation['what']): ScopedMetadata {
  const metadata = structuredClone(old);
  if (what.type === 'label') {
    const { [key]: _before, ...others } = metadata.labels ?? {};
    metadata.labels = what.to === undefined ? others : { ...others, [key]: what.to };
    if (what.force) metadata.annotations = { ...metadata.annotations, [force]: 'true' };
  } else if (what.type === 'finalizers') {
    const kept = (metadata.finalizers ?? []).filter((name) => !what.remove.includes(name));
    metadata.finalizers = [...new Set([...kept, ...what.add])];
  } else if (what.type === 'cancel') {
    metadata.annotations = { ...metadata.annotations, [cancel]: 'true' };
  } else if (what.type === 'forge') {
    const past = '2020-01-01T00:00:00Z';
    const forged = { [key]: { from: 'a', to: 'c', requestedAt: past, deadline: past } };
    metadata.annotations = { [transferAnnotation]: JSON.stringify(forged), [scopeConditionsAnnotation]: '[]' };
  } else metadata.annotations = { ...metadata.annotations, touched: String(Math.random()) };
  return metadata;
}

export function admit(now: number, old: ScopedMetadata, metadata: ScopedMetadata, by: Operation['by']): Promise<void> {
  // A new index for every write, as after a restart.
  const scopes: ScopesByKey = new Map([[key, new Map(values.map((value) => [value, scopeOf(value)]))]]);
  return admitScopedUpdate({
    scopes,
    through: scopes.get(key)?.get(by),
    old,
    metadata,
    isSubresource: false,
    now: new Date(now),
    mayAssign: () => Promise.resolve(by === 'assigner'),
    admitNewValue: (newKey, value) => Promise.reject(unknownScope(newKey, value)),
  });
}
