import { createHash } from 'node:crypto';
import { isConditionTrue, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import { boundDefinitionAnnotation, conversionsAnnotation, degradedCondition } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { entryMetadataOf, scannedMetadata } from '../store/entry-metadata.ts';
import { parseMetadata, topLevelMembers } from '../codec/metadata-scanner.ts';

interface DefinitionStatus {
  readonly acceptedNames?: unknown;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

const boundMark = Buffer.from(`"${boundDefinitionAnnotation}"`);

/**
 * A hash of all that determines the APIs that a CustomResourceDefinition serves: spec, accepted names, conditions, deletion
 * and conversions between versions, but no bookkeeping such as managedFields, and no report of what is not served. Computed from the stored bytes, and kept on
 * the cache entry.
 */
export function definitionFingerprint(entry: CacheEntry): string {
  const known = entryMetadataOf(entry);
  if (known.fingerprint === undefined) {
    const { value } = entry;
    const members = new Map(topLevelMembers(value));
    const spec = members.get('spec');
    const statusBytes = members.get('status');
    const status = statusBytes === undefined ? {} : (JSON.parse(statusBytes.toString('utf8')) as DefinitionStatus);
    const conditions = (status.conditions ?? [])
      .filter(({ type }) => type !== degradedCondition)
      .map((condition) => `${condition.type}=${condition.status}`)
      .sort();
    const deleting = scannedMetadata(entry).deletionTimestamp !== undefined;
    const conversions = value.includes(boundMark)
      ? parseMetadata(value).annotations?.[conversionsAnnotation]
      : undefined;
    known.fingerprint = createHash('sha256')
      .update(spec ?? '')
      .update(JSON.stringify([status.acceptedNames, conditions, deleting, conversions]))
      .digest('base64');
  }
  return known.fingerprint;
}

export function hasCondition(crd: DeepReadonly<KubeObject>, type: string): boolean {
  const status = crd['status'] as DefinitionStatus | undefined;
  return isConditionTrue(status?.conditions, type);
}
