import { clusterAnnotation, type DeepReadonly } from '@multiplane/apimachinery';
import type { APIExport } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import type { ExportFinder } from '../apis/export-finder.ts';
import { exportKey, type ExportReference } from '../apis/export-reference.ts';
import type { NewKcpCondition } from '../runtime/kcp-conditions.ts';

/** The APIExport that a scope or a set of scopes refers to, and the condition `ExportValid`. */
export interface FoundExport {
  readonly condition: NewKcpCondition;
  /** Logical cluster of the export. */
  readonly cluster?: string | undefined;
  readonly identityHash?: string | undefined;
  readonly object?: DeepReadonly<APIExport> | undefined;
}

/**
 * Finds the export of a scope or set. `pinned` is the logical cluster in which it was found first: another workspace that gets
 * the path later does not take its place. Undefined while exports are not synced; the finder requeues the key then.
 */
export function findScopeExport(
  finder: ExportFinder,
  wanted: ExportReference,
  reference: ObjectReference,
  pinned: string | undefined,
): FoundExport | undefined {
  const name = exportKey(wanted, reference.cluster);
  let found: DeepReadonly<APIExport> | 'absent' | 'not-synced';
  try {
    found = finder.find(wanted, reference);
  } catch {
    return { condition: exportInvalid('InternalError', `several workspaces have the path of APIExport ${name}`) };
  }
  if (found === 'not-synced') return undefined;
  if (found === 'absent') return { condition: exportInvalid('APIExportNotFound', `APIExport ${name} not found`) };
  const cluster = found.metadata.annotations?.[clusterAnnotation] ?? '';
  if (cluster !== (pinned ?? cluster))
    return {
      condition: exportInvalid(
        'APIExportReplaced',
        `APIExport ${name} is now in another workspace than when this object was created; delete and create the object again`,
      ),
    };
  const identityHash = found.status?.identityHash ?? '';
  if (identityHash === '')
    return {
      condition: { ...exportInvalid('IdentityPending', `APIExport ${name} has no identity yet`), severity: 'Info' },
      cluster,
      object: found,
    };
  return { condition: { type: 'ExportValid', status: 'True' }, cluster, identityHash, object: found };
}

const exportInvalid = (reason: string, message: string): NewKcpCondition => ({
  type: 'ExportValid',
  status: 'False',
  severity: 'Error',
  reason,
  message,
});
