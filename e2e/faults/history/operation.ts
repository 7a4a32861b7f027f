/** What a request did to one object, as its client saw it. Times are monotonic milliseconds of one process. */
export interface Operation {
  readonly client: number;
  readonly key: string;
  readonly start: number;
  /** When the answer arrived; infinite for an unknown outcome: the write may take effect at any time, or never. */
  readonly end: number;
  readonly action: Action;
}

export type Action =
  /** `value` is unique in the whole history. */
  | { readonly kind: 'create'; readonly value: string; readonly outcome: Written | 'exists' | 'unknown' }
  | {
      readonly kind: 'update';
      readonly value: string;
      /** The revision of the precondition. */
      readonly expected: number;
      readonly outcome: Written | 'conflict' | 'missing' | 'unknown';
    }
  | {
      readonly kind: 'delete';
      readonly expected: number;
      readonly outcome: 'deleted' | 'conflict' | 'missing' | 'unknown';
    }
  | { readonly kind: 'read'; readonly outcome: Read | 'missing' };

export interface Written {
  readonly revision: number;
}
export interface Read {
  readonly revision: number;
  readonly value: string;
}

export function describeOperation({ client, key, start, end, action }: Operation): string {
  return `${start.toFixed(1)}–${end.toFixed(1)} client ${client} ${key} ${JSON.stringify(action)}`;
}
