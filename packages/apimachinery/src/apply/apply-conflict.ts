import { quote } from '../go/go-quote.ts';
import { StatusError, type StatusCause } from '../errors/status-error.ts';
import type { FieldSet } from './field-set.ts';
import { managerIdentity } from './managed-fields.ts';
import { displayPath } from './path-element.ts';

/** Fields that a configuration would take from others, by the keys of the managers that own them. */
export class ApplyConflicts extends Error {
  override readonly name = 'ApplyConflicts';
  readonly byManager: ReadonlyMap<string, FieldSet>;

  constructor(byManager: ReadonlyMap<string, FieldSet>) {
    super('the configuration conflicts with other managers');
    this.byManager = byManager;
  }
}

/** 409 with every field of every manager. */
export function applyConflictStatus(conflicts: ApplyConflicts): StatusError {
  const causes: StatusCause[] = [];
  const lines: string[] = [];
  for (const key of [...conflicts.byManager.keys()].toSorted()) {
    const who = describeManager(key);
    lines.push(`conflicts with ${who}:`);
    for (const path of conflicts.byManager.get(key)?.paths() ?? []) {
      const field = displayPath(path);
      causes.push({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field });
      lines.push(`- ${field}`);
    }
  }
  const [only] = causes;
  const message =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${only?.message}: ${only?.field}`
      : `Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`;
  return new StatusError({ code: 409, reason: 'Conflict', message, details: { causes }, cause: conflicts });
}

/** `"name"`, with its subresource, and for updaters with the version that they used. */
function describeManager(key: string): string {
  const { manager, operation, apiVersion, subresource } = managerIdentity(key);
  let text = quote(manager);
  if (subresource !== '') text += ` with subresource ${quote(subresource)}`;
  return operation === 'Update' ? `${text} using ${apiVersion}` : text;
}
