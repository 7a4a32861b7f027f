import { expect, test } from '@jest/globals';
import { deepEqual } from '@multiplane/apimachinery';
import {
  cancelTransferAnnotation as cancel,
  forceTransferAnnotation as force,
  scopeConditionsAnnotation,
  transferAnnotation,
} from '@multiplane/apis';
import fc from 'fast-check';
import {
  admit,
  key,
  operations,
  proposed,
  values,
  type Operation,
  type Value,
} from '../../test/scopes/transfer-operations.ts';
import { ScopeRuleError, type ScopedMetadata } from './scoped-update.ts';

/** One revision of the object. */
interface Revision {
  readonly metadata: ScopedMetadata;
  readonly by: Operation['by'];
  readonly isForced: boolean;
}

/**
 * The object with its history, and a compare-and-set. Nothing but `history` is kept between writes: every write may be the
 * first one of a new process.
 */
class Model {
  readonly history: Revision[];
  now = Date.parse('2026-01-01T00:00:00Z');
  /** The finalizers that were added through the scope in which the object is, as the rule defines them. */
  owned = new Set<string>();

  constructor(first: Value) {
    this.history = [
      {
        metadata: { labels: { [key]: first }, creationTimestamp: '2021-01-01T00:00:00Z' },
        by: 'consumer',
        isForced: false,
      },
    ];
  }

  get current(): Revision {
    return this.history.at(-1) as Revision;
  }

  /** Returns whether the write was admitted. */
  async write({ by, what, lag, elapsedMs }: Operation): Promise<boolean> {
    this.now += elapsedMs;
    for (let seen = this.history.length - (lag && this.history.length > 1 ? 2 : 1); ; seen = this.history.length - 1) {
      const old = (this.history[seen] as Revision).metadata;
      const through = values.find((value) => value === by);
      const metadata = proposed(old, what);
      let isRefused = through !== undefined && old.labels?.[key] !== through;
      try {
        if (!isRefused) await admit(this.now, old, metadata, by);
      } catch (error) {
        if (!(error instanceof ScopeRuleError)) throw error;
        isRefused = true;
      }
      // The store refuses a write that was computed from an older revision, and a refusal is confirmed by a fresh read.
      if (seen !== this.history.length - 1) continue;
      if (isRefused) return false;
      if (!deepEqual(metadata, old)) this.history.push({ metadata, by, isForced: what.type === 'label' && what.force });
      return true;
    }
  }
}

/** The events of a scope after a revision, by the rule of a watch with a label selector. */
function watch(history: readonly Revision[], scope: Value, after: number): string[] {
  return history.flatMap(({ metadata }, revision) => {
    if (revision <= after) return [];
    const before = history[revision - 1]?.metadata.labels?.[key] === scope;
    const now = metadata.labels?.[key] === scope;
    if (now) return [`${before ? 'MODIFIED' : 'ADDED'} ${revision}`];
    return before ? [`DELETED ${revision}`] : [];
  });
}

test('an object is in exactly one scope at every revision, and moves only as the protocol allows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...values), operations, async (first, list) => {
      const model = new Model(first);
      for (const given of list) {
        const before = model.current.metadata;
        const by = given.by === 'holder' ? (before.labels?.[key] as Value) : given.by;
        const operation = { ...given, by };
        const revisions = model.history.length;
        const admitted = await model.write(operation);
        if (model.history.length === revisions) continue;
        const after = model.current.metadata;
        const [from, to] = [before.labels?.[key], after.labels?.[key]] as [Value, Value];
        // Never in none, and never outside of the scopes that exist.
        expect(values).toContain(to);
        expect(admitted).toBe(true);
        // A provider writes only what is in its scope.
        if (values.some((value) => value === operation.by)) expect(from).toBe(operation.by);
        checkMove(model, operation, before, after);
        checkMarks(operation, before, after);
        if (from !== to) model.owned = new Set();
        else {
          const kept = [...model.owned].filter((name) => after.finalizers?.includes(name) === true);
          const added = (after.finalizers ?? []).filter((name) => before.finalizers?.includes(name) !== true);
          model.owned = new Set([...kept, ...(operation.by === from ? added : [])]);
        }
      }
      // A watcher that reconnects after any revision gets the rest of the history, and no more.
      for (const scope of values) {
        const whole = watch(model.history, scope, 0);
        for (let revision = 0; revision < model.history.length; revision++)
          expect(watch(model.history, scope, revision)).toEqual(
            whole.filter((event) => Number(event.split(' ')[1]) > revision),
          );
      }
      // Each move is one event in both scopes, at one revision.
      const events = values.flatMap((scope) => watch(model.history, scope, 0));
      const revisionsOf = (type: string): string[] =>
        events.filter((event) => event.startsWith(type)).map((event) => event.slice(type.length));
      expect(new Set(revisionsOf('ADDED'))).toEqual(new Set(revisionsOf('DELETED')));
      expect(revisionsOf('ADDED').length).toBe(revisionsOf('DELETED').length);
    }),
    { numRuns: 500 },
  );
});

function checkMove(model: Model, { by, what }: Operation, before: ScopedMetadata, after: ScopedMetadata): void {
  const [from, to] = [before.labels?.[key], after.labels?.[key]];
  if (from === to) return;
  // No finalizer of the old scope arrives in the new one.
  for (const name of model.owned) expect(after.finalizers ?? []).not.toContain(name);
  const pending = before.annotations?.[transferAnnotation];
  const transfer =
    pending === undefined ? undefined : (JSON.parse(pending) as Record<string, Record<string, string>>)[key];
  if (what.type === 'label') {
    expect({ by, to }).toEqual({ by: 'assigner', to: what.to });
    const stillOwned = [...model.owned].some((name) => before.finalizers?.includes(name) === true);
    if (!stillOwned) return;
    // Forced: the transfer was requested before, and its deadline has passed.
    expect(what.force).toBe(true);
    expect(transfer?.['to']).toBe(to);
    expect(model.now).toBeGreaterThanOrEqual(Date.parse(transfer?.['deadline'] ?? ''));
  } else {
    // Released: the pending transfer names the new scope.
    expect(transfer).toMatchObject({ from, to });
  }
}

/** The marks of a pending transfer: the condition is there exactly while it is pending, and only two writes end it. */
function checkMarks({ by, what }: Operation, before: ScopedMetadata, after: ScopedMetadata): void {
  for (const annotation of [force, cancel]) expect(after.annotations ?? {}).not.toHaveProperty([annotation]);
  const pending = after.annotations?.[transferAnnotation];
  const condition = after.annotations?.[scopeConditionsAnnotation];
  expect(condition === undefined).toBe(pending === undefined);
  if (condition !== undefined)
    expect(JSON.parse(condition)).toMatchObject([{ type: 'TransferPending', status: 'True' }]);
  const hasEnded = before.annotations?.[transferAnnotation] !== undefined && pending === undefined;
  if (!hasEnded || before.labels?.[key] !== after.labels?.[key]) return;
  // It ended without a move: a user who may assign cancelled it.
  expect({ by, type: what.type }).toEqual({ by: 'assigner', type: 'cancel' });
}
