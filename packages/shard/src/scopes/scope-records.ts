import { isJsonObject, parseJson, type DeepReadonly, type ObjectMeta } from '@multiplane/apimachinery';
import { scopeConditionsAnnotation, scopeFinalizersAnnotation, shownKey, transferAnnotation } from '@multiplane/apis';

/** A requested transfer that waits for finalizers. Times are in RFC 3339. */
export interface PendingTransfer {
  /** Label values. */
  readonly from: string;
  readonly to: string;
  readonly requestedAt: string;
  readonly deadline: string;
}

/** What the server records about scopes on an object, by the key of a label or field. */
export interface ScopeRecords {
  readonly transfers: Map<string, PendingTransfer>;
  /** Finalizers that were added through the scope which the object is in. */
  readonly finalizers: Map<string, readonly string[]>;
}

type Metadata = DeepReadonly<Pick<ObjectMeta, 'annotations'>>;

/** Reads the annotations of a stored object. What is not well-formed was written before the label was protected: it counts as absent. */
export function readRecords(metadata: Metadata | undefined): ScopeRecords {
  return {
    transfers: new Map(entriesOf(metadata, transferAnnotation).filter(isTransferEntry)),
    finalizers: new Map(entriesOf(metadata, scopeFinalizersAnnotation).filter(isFinalizersEntry)),
  };
}

/** Replaces the annotations of an object, whatever the client sent. In place. */
export function writeRecords(metadata: Pick<ObjectMeta, 'annotations'>, records: ScopeRecords): void {
  const texts: readonly (readonly [string, string | undefined])[] = [
    [transferAnnotation, textOf(records.transfers)],
    [scopeFinalizersAnnotation, textOf(records.finalizers)],
    [scopeConditionsAnnotation, conditionsText(records)],
  ];
  if (texts.every(([name, text]) => metadata.annotations?.[name] === text)) return;
  const annotations = { ...metadata.annotations };
  for (const [name, text] of texts) {
    if (text === undefined) delete annotations[name];
    else annotations[name] = text;
  }
  if (Object.keys(annotations).length > 0) metadata.annotations = annotations;
  else delete metadata.annotations;
}

const textOf = (map: ReadonlyMap<string, unknown>): string | undefined =>
  map.size === 0 ? undefined : JSON.stringify(Object.fromEntries(map));

/** Finalizers that a message names; the record has all of them. */
const maxNamedFinalizers = 5;

/** One condition `TransferPending` per pending transfer; undefined if there is none. Only fields of the records: no clock. */
function conditionsText({ transfers, finalizers }: ScopeRecords): string | undefined {
  if (transfers.size === 0) return undefined;
  const conditions = Array.from(transfers, ([key, { from, to, requestedAt, deadline }]) => {
    const owned = finalizers.get(key) ?? [];
    const more = owned.length > maxNamedFinalizers ? ` and ${owned.length - maxNamedFinalizers} more` : '';
    const names = `${owned.slice(0, maxNamedFinalizers).join(', ')}${more}`;
    return {
      type: 'TransferPending',
      status: 'True',
      reason: 'WaitingForFinalizers',
      message: `moves from ${shownKey(key)}=${from} to ${shownKey(key)}=${to} when these finalizers are removed: ${names}; may be forced after ${deadline}`,
      lastTransitionTime: requestedAt,
    };
  });
  return JSON.stringify(conditions);
}

function entriesOf(metadata: Metadata | undefined, annotation: string): [string, unknown][] {
  const text = metadata?.annotations?.[annotation];
  if (text === undefined) return [];
  try {
    const value = parseJson(text);
    return isJsonObject(value) ? Object.entries(value) : [];
  } catch {
    return [];
  }
}

const transferFields = ['from', 'to', 'requestedAt', 'deadline'] as const;

function isTransferEntry(entry: [string, unknown]): entry is [string, PendingTransfer] {
  const [, value] = entry as [string, Record<string, unknown> | null];
  return typeof value === 'object' && value !== null && transferFields.every((name) => typeof value[name] === 'string');
}

function isFinalizersEntry(entry: [string, unknown]): entry is [string, readonly string[]] {
  const [, value] = entry;
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
}
