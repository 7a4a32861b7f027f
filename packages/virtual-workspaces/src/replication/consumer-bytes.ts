import {
  clusterAnnotation,
  shardNameAnnotation,
  skipJsonString,
  type LogicalClusterName,
} from '@multiplane/apimachinery';

/** Annotations by which the cache tells where a copy comes from; consumers do not see them. */
export const originAnnotations: ReadonlySet<string> = new Set([
  'cache.kcp.io/original-resource-UID',
  'cache.kcp.io/original-resource-version',
  shardNameAnnotation,
]);

const annotationsMark = Buffer.from('"annotations":{');
const quote = 0x22;
const comma = 0x2c;
const commaBytes = Buffer.from(',');

/**
 * The stored bytes of a cached object as a consumer's logical cluster shows them: `kcp.io/cluster` is the consumer, the
 * annotations of the cache are gone, everything else is the same bytes.
 *
 * Works on bytes, since it runs once per event and watching consumer: parsing would cost ten times as much. The first
 * `"annotations":{` is that of the metadata, which precedes spec and status (see object-codec.ts of the API server): inside a
 * JSON string its quotes would be escaped, and the values of labels before it are strings.
 */
export function consumerBytes(stored: Buffer, consumer: LogicalClusterName): Buffer {
  const mark = stored.indexOf(annotationsMark);
  if (mark < 0) return stored;
  const parts: Buffer[] = [stored.subarray(0, mark + annotationsMark.length)];
  let at = mark + annotationsMark.length;
  let isFirst = true;
  while (stored[at] === quote) {
    const keyEnd = skipJsonString(stored, at);
    const key = stored.toString('utf8', at + 1, keyEnd - 1);
    const valueEnd = skipJsonString(stored, keyEnd + 1);
    if (!originAnnotations.has(key)) {
      if (!isFirst) parts.push(commaBytes);
      isFirst = false;
      parts.push(
        key === clusterAnnotation
          ? Buffer.from(`${JSON.stringify(key)}:${JSON.stringify(consumer)}`)
          : stored.subarray(at, valueEnd),
      );
    }
    at = stored[valueEnd] === comma ? valueEnd + 1 : valueEnd;
  }
  parts.push(stored.subarray(at));
  return Buffer.concat(parts);
}
