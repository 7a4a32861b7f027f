import type { DeepReadonly } from '@multiplane/apimachinery';
import {
  builtInResources,
  rootExportKinds,
  type APIBinding,
  type APIResourceSchema,
  type ResourceDefinition,
} from '@multiplane/apis';
import type { CrdNames, CustomResourceDefinition } from '../apiextensions/crd-names.ts';

/** A definition whose names are taken in a logical cluster: its own one, or one that a binding brings. */
export interface NamedDefinition {
  readonly definition: DeepReadonly<CustomResourceDefinition>;
  /** Absent: a definition of the logical cluster itself. */
  readonly binding?: DeepReadonly<APIBinding> | undefined;
}

/**
 * The first name of a schema that a definition of its group has in a logical cluster, as kcp tells it (C5.11); undefined
 * when the schema can be bound. Definitions are looked at by uid, so that each look finds the same one.
 *
 * Before all, the kinds that every logical cluster has keep their names: bound, another `secrets` would bring its
 * provider's webhooks, policies and view between a workspace and its own Secrets. The reference binds it.
 */
export function namingConflict(
  schema: DeepReadonly<APIResourceSchema>,
  taken: readonly NamedDefinition[],
): string | undefined {
  const group = schema.spec?.group ?? '';
  for (const kind of builtInResources()) {
    if (kind.group !== group || isRootExported(kind)) continue;
    const { resource: plural, singular, shortNames } = kind;
    const name = takenName(schema, { plural, singular, shortNames, kind: kind.kind, listKind: kind.listKind });
    if (name !== undefined)
      return `naming conflict with the built-in ${JSON.stringify(group === '' ? plural : `${plural}.${group}`)}: spec.names.${name} is forbidden`;
  }
  const uidOf = ({ definition }: NamedDefinition): string => definition.metadata.uid ?? '';
  const ofGroup = taken.filter(({ definition }) => definition.spec.group === group);
  for (const { definition, binding } of ofGroup.sort((a, b) => (uidOf(a) < uidOf(b) ? -1 : 1))) {
    const name = takenName(schema, definition.status?.acceptedNames);
    if (name === undefined) continue;
    const whose =
      binding === undefined
        ? `CustomResourceDefinition ${JSON.stringify(definition.metadata.name ?? '')}`
        : `APIBinding ${JSON.stringify(binding.metadata.name ?? '')} bound to ${exportOf(binding)}`;
    return `naming conflict with ${whose}: spec.names.${name} is forbidden`;
  }
  return undefined;
}

/** What `root` offers is bound by its own binding. */
const isRootExported = ({ group, resource }: ResourceDefinition): boolean =>
  rootExportKinds.some((exported) => exported.group === group && exported.plurals.includes(resource));

function exportOf({ spec }: DeepReadonly<APIBinding>): string {
  const { path = '', name = '' } = spec?.reference?.export ?? {};
  return path === '' ? `local APIExport ${JSON.stringify(name)}` : `APIExport ${path}:${name}`;
}

function takenName(
  { spec }: DeepReadonly<APIResourceSchema>,
  held: DeepReadonly<CrdNames> | undefined,
): string | undefined {
  const wanted: DeepReadonly<CrdNames> = spec?.names ?? { plural: '', kind: '' };
  const present = (names: readonly (string | undefined)[]): Set<string> =>
    new Set(names.filter((name): name is string => name !== undefined && name !== ''));
  const resources = present([held?.plural, held?.singular, ...(held?.shortNames ?? [])]);
  const kinds = present([held?.kind, held?.listKind]);
  const { plural, singular = '', shortNames = [], kind, listKind = '' } = wanted;
  if (resources.has(plural)) return `plural=${plural}`;
  if (resources.has(singular)) return `singular=${singular}`;
  if (shortNames.some((name) => resources.has(name))) return `shortNames=[${shortNames.join(' ')}]`;
  if (kinds.has(kind)) return `kind=${kind}`;
  if (kinds.has(listKind)) return `listKind=${listKind}`;
  return undefined;
}
