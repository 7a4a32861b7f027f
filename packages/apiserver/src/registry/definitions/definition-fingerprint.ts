import { createHash } from 'node:crypto';
import { isConditionTrue, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import { boundDefinitionAnnotation, conversionsAnnotation } from '@multiplane/apis';
import type { CacheEntry } from '@multiplane/storage';
import { factsOf, scannedMetadata } from './entry-facts.ts';
import { parseMetadata, topLevelMembers } from './metadata-scanner.ts';

interface DefinitionStatus {
  readonly acceptedNames?: unknown;
  readonly conditions?: readonly { readonly type: string; readonly status: string }[];
}

const boundMark = Buffer.from(`"${boundDefinitionAnnotation}"`);

/**
 * All that decides what a CustomResourceDefinition serves, as one text: spec, accepted names, conditions, deletion and
 * conversions between versions, without what only bookkeeping touches. Taken off the stored bytes, and kept on the entry.
 */
export function definitionFingerprint(entry: CacheEntry): string {
  const facts = factsOf(entry);
  if (facts.fingerprint === undefined) {
    const { value } = entry;
    const members = new Map(topLevelMembers(value));
    const spec = members.get('spec');
    const statusBytes = members.get('status');
    const status = statusBytes === undefined ? {} : (JSON.parse(statusBytes.toString('utf8')) as DefinitionStatus);
    const conditions = (status.conditions ?? []).map((condition) => `${condition.type}=${condition.status}`).sort();
    const deleting = scannedMetadata(entry).deletionTimestamp !== undefined;
    const conversions = value.includes(boundMark)
      ? parseMetadata(value).annotations?.[conversionsAnnotation]
      : undefined;
    facts.fingerprint = createHash('sha256')
      .update(spec ?? '')
      .update(JSON.stringify([status.acceptedNames, conditions, deleting, conversions]))
      .digest('base64');
  }
  return facts.fingerprint;
}

export function hasCondition(crd: DeepReadonly<KubeObject>, type: string): boolean {
  const status = crd['status'] as DefinitionStatus | undefined;
  return isConditionTrue(status?.conditions, type);
}
