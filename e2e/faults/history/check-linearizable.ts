import { describeOperation, type Operation } from './operation.ts';

/** The state of one object: absent, or a value with its revision (undefined: of a write whose outcome no read has shown yet). */
interface State {
  readonly value: string | undefined;
  readonly revision: number | undefined;
  /** The highest revision of this object so far: revisions never go back, also not over a delete. */
  readonly highest: number;
}

const absent: State = { value: undefined, revision: undefined, highest: 0 };

/**
 * The states that an operation may leave behind if it takes effect in this state; none: its outcome contradicts the state.
 * An operation with an unknown outcome may have had none.
 */
function apply(state: State, { action }: Operation): readonly State[] {
  const exists = state.value !== undefined;
  switch (action.kind) {
    case 'create': {
      if (action.outcome === 'exists') return exists ? [state] : [];
      if (action.outcome === 'unknown')
        return exists ? [state] : [state, { ...state, value: action.value, revision: undefined }];
      return exists ? [] : written(state, action.value, action.outcome.revision);
    }
    case 'update': {
      if (action.outcome === 'missing') return exists ? [] : [state];
      const matches = exists && hasRevision(state, action.expected);
      if (action.outcome === 'conflict') return exists && state.revision !== action.expected ? [state] : [];
      if (action.outcome === 'unknown')
        return matches ? [state, { ...state, value: action.value, revision: undefined }] : [state];
      return matches ? written(state, action.value, action.outcome.revision) : [];
    }
    case 'delete': {
      if (action.outcome === 'missing') return exists ? [] : [state];
      const matches = exists && hasRevision(state, action.expected);
      if (action.outcome === 'conflict') return exists && state.revision !== action.expected ? [state] : [];
      const deleted = { ...state, value: undefined, revision: undefined };
      if (action.outcome === 'unknown') return matches ? [state, deleted] : [state];
      return matches ? [deleted] : [];
    }
    case 'read': {
      if (action.outcome === 'missing') return exists ? [] : [state];
      const { value, revision } = action.outcome;
      if (state.value !== value) return [];
      if (state.revision !== undefined) return state.revision === revision ? [state] : [];
      return written(state, value, revision);
    }
  }
}

const hasRevision = ({ revision }: State, expected: number): boolean => revision === undefined || revision === expected;

function written(state: State, value: string, revision: number): State[] {
  return revision > state.highest ? [{ value, revision, highest: revision }] : [];
}

/** States that a search may visit per object; a history that needs more has too many concurrent unknown outcomes. */
const maxVisited = 500_000;

/**
 * Checks that the operations of one object are linearizable: that there is an order of them which respects real time (an
 * operation that ended before another one started comes first) and in which every outcome is the one of a single register
 * with compare-and-set on revisions.
 *
 * The search of Wing and Gong with the memory of Lowe, as in porcupine: take any operation that may come next, that is,
 * that started before every pending one has ended; remember visited pairs of taken operations and state; go back when none
 * fits. Operations with an unknown outcome need not be taken.
 *
 * @returns undefined, or what is wrong: the longest prefix that fits, and the operations that cannot follow it
 */
function checkLinearizable(operations: readonly Operation[]): string | undefined {
  const sorted = [...operations].sort((a, b) => a.start - b.start);
  const required = sorted.filter(({ end }) => end !== Infinity).length;
  const visited = new Set<string>();
  let best: { readonly taken: readonly number[]; readonly state: State } = { taken: [], state: absent };
  /** Iterative, because histories are longer than the stack. */
  const stack: {
    readonly taken: readonly number[];
    readonly done: bigint;
    readonly state: State;
    readonly fits: number;
  }[] = [{ taken: [], done: 0n, state: absent, fits: 0 }];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    const { taken, done, state, fits } = node;
    if (fits === required) return undefined;
    if (taken.length > best.taken.length) best = node;
    if (visited.size > maxVisited) return `undecided after ${maxVisited} states: too many unknown outcomes at once`;
    let earliestEnd = Infinity;
    const candidates: number[] = [];
    for (const [i, operation] of sorted.entries()) {
      if ((done >> BigInt(i)) & 1n) continue;
      if (operation.start > earliestEnd) break;
      candidates.push(i);
      earliestEnd = Math.min(earliestEnd, operation.end);
    }
    // Pushed in reverse, so that operations are tried in the order of their start.
    for (const i of candidates.reverse()) {
      const operation = sorted[i] as Operation;
      if (operation.start > earliestEnd) continue;
      for (const next of apply(state, operation)) {
        const nextDone = done | (1n << BigInt(i));
        const id = `${nextDone.toString(36)} ${next.value} ${next.revision} ${next.highest}`;
        if (visited.has(id)) continue;
        visited.add(id);
        const isRequired = operation.end === Infinity ? 0 : 1;
        stack.push({ taken: [...taken, i], done: nextDone, state: next, fits: fits + isRequired });
      }
    }
  }
  const left = sorted.filter((_, i) => !best.taken.includes(i)).slice(0, 8);
  return [
    `not linearizable: after ${best.taken.length} of ${sorted.length} operations the state is ${JSON.stringify(best.state)}`,
    ...best.taken.slice(-5).map((i) => `  ${describeOperation(sorted[i] as Operation)}`),
    'and none of these can follow:',
    ...left.map((operation) => `  ${describeOperation(operation)}`),
  ].join('\n');
}

/** {@link checkLinearizable} for each object of a history. */
export function checkHistory(operations: readonly Operation[]): string[] {
  const byKey = new Map<string, Operation[]>();
  for (const operation of operations) {
    const list = byKey.get(operation.key);
    if (list === undefined) byKey.set(operation.key, [operation]);
    else list.push(operation);
  }
  return [...byKey.values()].map(checkLinearizable).filter((problem) => problem !== undefined);
}
