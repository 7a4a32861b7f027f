import { type Json, type ObjectMeta, parseJson, skipJsonString, skipJsonValue } from '@multiplane/apimachinery';
import { itemOffset, revisionOffset } from './stored-layout.ts';

const quote = 0x22;
const comma = 0x2c;

/** The metadata that selection, garbage collection and deletion need, scanned from the stored bytes. */
export interface ScannedMetadata {
  labels?: Record<string, string>;
  deletionTimestamp?: string;
  ownerReferences?: readonly { readonly uid: string }[];
  finalizers?: readonly string[];
}

const wanted: ReadonlySet<string> = new Set(['labels', 'deletionTimestamp', 'ownerReferences', 'finalizers']);

/**
 * Reads some fields of metadata without parsing the object: walks the members of `metadata` after the uid (see
 * stored-layout.ts) and parses only the wanted ones. Takes about a microsecond.
 */
export function scanMetadata(stored: Buffer): ScannedMetadata {
  return scanMembers(stored, wanted);
}

/** Reads only the labels, as {@link scanMetadata} does. */
export function scanLabels(stored: Buffer): Record<string, string> | undefined {
  return scanMembers(stored, onlyLabels).labels;
}

const onlyLabels: ReadonlySet<string> = new Set(['labels']);

function scanMembers(stored: Buffer, members: ReadonlySet<string>): ScannedMetadata {
  const result: ScannedMetadata = {};
  let missing = members.size;
  let at = revisionOffset(stored);
  while (missing > 0 && at < stored.length && stored[at] === quote) {
    const keyEnd = skipJsonString(stored, at);
    const key = stored.toString('latin1', at + 1, keyEnd - 1);
    const valueStart = keyEnd + 1;
    const valueEnd = skipJsonValue(stored, valueStart);
    if (members.has(key)) {
      missing--;
      (result as Record<string, Json>)[key] = JSON.parse(stored.toString('utf8', valueStart, valueEnd)) as Json;
    }
    at = stored[valueEnd] === comma ? valueEnd + 1 : stored.length;
  }
  return result;
}

/** Index after the closing brace of `metadata`. */
export function metadataEnd(stored: Buffer): number {
  return skipJsonValue(stored, itemOffset(stored) + metadataMember.length);
}

const metadataMember = '"metadata":';

/** Parses `metadata` and nothing else. */
export function parseMetadata(stored: Buffer): ObjectMeta {
  return parseJson(
    stored.subarray(itemOffset(stored) + metadataMember.length, metadataEnd(stored)),
  ) as unknown as ObjectMeta;
}

/** The bytes of a top-level member other than metadata (`spec`, `status`); undefined if the object has none. */
export function topLevelMember(stored: Buffer, name: string): Buffer | undefined {
  for (const [key, bytes] of topLevelMembers(stored)) if (key === name) return bytes;
  return undefined;
}

/** The top-level members after kind, apiVersion and metadata, with their bytes. */
export function* topLevelMembers(stored: Buffer): Generator<readonly [string, Buffer]> {
  let at = metadataEnd(stored);
  while (stored[at] === comma) {
    const keyEnd = skipJsonString(stored, at + 1);
    const valueEnd = skipJsonValue(stored, keyEnd + 1);
    yield [stored.toString('utf8', at + 2, keyEnd - 1), stored.subarray(keyEnd + 1, valueEnd)];
    at = valueEnd;
  }
}
