import type { Value } from './json-pointer.ts';

const token = /\{\{(?:uid\d+|hash\d+|identity)\}\}/g;

/**
 * Gives the uids, and identities of exports, of observed answers the names that they have in the expected ones. Both are numbered by appearance, and servers
 * send members in different orders, so uids at the same place of an answer belong together; from then on each has one
 * counterpart. One for each scenario; answers are passed in the order of the steps.
 */
export class PairedUids {
  /** From observed to expected. */
  readonly #pairs = new Map<string, string>();
  readonly #taken = new Set<string>();

  /** The observed answer with the expected names; a uid without a counterpart gets a name that none has. */
  renamed(expected: Value, seen: Value): Value {
    this.#pair(expected, seen);
    return JSON.parse(
      JSON.stringify(seen).replace(token, (uid) => this.#pairs.get(uid) ?? uid.replace('{{', '{{unpaired ')),
    ) as Value;
  }

  #pair(expected: Value, seen: Value): void {
    if (typeof expected === 'string' && typeof seen === 'string') {
      const [names, uids] = [expected.match(token) ?? [], seen.match(token) ?? []];
      if (names.length !== uids.length) return;
      for (const [at, uid] of uids.entries()) {
        const name = names[at] as string;
        if (this.#pairs.has(uid) || this.#taken.has(name)) continue;
        this.#pairs.set(uid, name);
        this.#taken.add(name);
      }
    } else if (isContainer(expected) && isContainer(seen)) {
      for (const key of Object.keys(expected)) this.#pair(expected[key], seen[key]);
    }
  }
}

const isContainer = (value: Value): value is Record<string, Value> => typeof value === 'object' && value !== null;
