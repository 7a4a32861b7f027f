import { isJsonObject, parseJson, type Json, type KubeObject } from '@multiplane/apimachinery';
import { statusErrorOf } from '../rest-transport.ts';

/** A frame that violates the protocol; the rest of the stream cannot be trusted. */
export class BadFrameError extends Error {
  override readonly name = 'BadFrameError';
}

export interface WatchEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: KubeObject;
  readonly resourceVersion: string;
}

const types: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);
const initialEventsEnd = 'k8s.io/initial-events-end';

/** Parses one line of a watch. Throws the StatusError of an ERROR event, and {@link BadFrameError} for an invalid one. */
export function parseWatchEvent(line: Buffer): WatchEvent {
  const frame = parseFrame(line);
  const object = isJsonObject(frame) ? frame['object'] : undefined;
  if (!isJsonObject(frame) || !isJsonObject(object)) throw new BadFrameError(`not a watch event: ${excerpt(line)}`);
  const { type } = frame;
  if (type === 'ERROR') throw statusErrorOf(object);
  const metadata = object['metadata'];
  const version = isJsonObject(metadata) ? metadata['resourceVersion'] : undefined;
  if (!types.has(type) || typeof version !== 'string' || version === '')
    throw new BadFrameError(`not a watch event: ${excerpt(line)}`);
  return {
    type: type as WatchEvent['type'],
    object: object as unknown as KubeObject,
    resourceVersion: version,
  };
}

/** True for the bookmark that ends the initial events of a watch (KEP-3157). */
export function endsInitialEvents({ type, object }: WatchEvent): boolean {
  return type === 'BOOKMARK' && object.metadata.annotations?.[initialEventsEnd] === 'true';
}

function parseFrame(line: Buffer): Json {
  try {
    return parseJson(line);
  } catch (cause) {
    throw new BadFrameError(`not JSON: ${excerpt(line)}`, { cause });
  }
}

const excerpt = (line: Buffer): string => JSON.stringify(line.subarray(0, 120).toString());
