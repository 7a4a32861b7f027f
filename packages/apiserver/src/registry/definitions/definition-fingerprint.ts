import { createHash } from 'node:crypto';
import { isConditionTrue, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import { boundDefinitionAnnotation, conversionsAnnotation } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { entryMetadataOf, scannedMetadata } from '../store/entry-metadata.ts';
import { parseMetadata, topLevelMembers } from '../codec/metadata-scanner.ts';

interface DefinitionStatus {
  readonly acceptedNames?: unknown;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

const boundMark = Buffer.from(`"${boundDefinitionAnnotation}"`);

/** Follows the fingerprint of a definition that is being deleted. No character of base64. */
const terminatingMark = '-';

/**
 * A hash of all that determines the APIs that a CustomResourceDefinition serves: spec, accepted names, conditions, deletion
 * and conversions between versions, but no bookkeeping such as managedFields. Computed from the stored bytes, and kept on
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
    const isTerminating =
      scannedMetadata(entry).deletionTimestamp !== undefined || isConditionTrue(status.conditions, 'Terminating');
    const conditions = (status.conditions ?? [])
      .filter(({ type }) => type !== 'Terminating')
      .map((condition) => `${condition.type}=${condition.status}`)
      .sort();
    const conversions = value.includes(boundMark)
      ? parseMetadata(value).annotations?.[conversionsAnnotation]
      : undefined;
    const hash = createHash('sha256')
      .update(spec ?? '')
      .update(JSON.stringify([status.acceptedNames, conditions, conversions]))
      .digest('base64');
    known.fingerprint = isTerminating ? `${hash}${terminatingMark}` : hash;
  }
  return known.fingerprint;
}

/**
 * The part of a fingerprint on which the form of objects depends. Deletion is left out: watches of a definition that is being
 * deleted continue, as in Kubernetes, so that they receive the deletion of its objects.
 */
export function objectFormOf(fingerprint: string): string {
  return fingerprint.endsWith(terminatingMark) ? fingerprint.slice(0, -terminatingMark.length) : fingerprint;
}

export function hasCondition(crd: DeepReadonly<KubeObject>, type: string): boolean {
  const status = crd['status'] as DefinitionStatus | undefined;
  return isConditionTrue(status?.conditions, type);
}
