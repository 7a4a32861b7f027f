import { clusterAnnotation, pathAnnotation, type DeepReadonly } from '@multiplane/apimachinery';
import type { PathAndNameLookup } from '@multiplane/client';
import type { TypeReference, WorkspaceType } from './kinds.ts';

/** Finds a WorkspaceType of any shard by canonical path or name of the logical cluster, and name. */
export type WorkspaceTypeLookup = Pick<PathAndNameLookup<WorkspaceType>, 'byPathAndName'>;

type Type = DeepReadonly<WorkspaceType>;

/** The initializer that creates the default bindings of a type. */
export const apiBindingsInitializer = 'system:apibindings';

/** The types of a workspace cannot be resolved. The message is shown to users. */
export class WorkspaceTypeError extends Error {
  override readonly name = 'WorkspaceTypeError';
}

/** Canonical path of the logical cluster of a type. */
export function typePathOf({ metadata }: Type): string {
  return metadata.annotations?.[pathAnnotation] ?? metadata.annotations?.[clusterAnnotation] ?? '';
}

/** `<canonical path>:<name>`, as in messages and in limits of allowed types. */
export function qualifiedTypeName(type: Type): string {
  return `${typePathOf(type)}:${type.metadata.name ?? ''}`;
}

/** `<logical cluster>:<name>`: the name of a type's initializer and terminator. */
export function lifecycleId({ metadata }: Type): string {
  return `${metadata.annotations?.[clusterAnnotation] ?? ''}:${metadata.name ?? ''}`;
}

/**
 * A type and all types it extends, bases first, each once. Throws WorkspaceTypeError if a base is missing or the extension
 * is circular.
 */
export function resolveTypeClosure(types: WorkspaceTypeLookup, type: Type): readonly Type[] {
  const closure = new Map<string, Type>();
  const visit = (current: Type, path: readonly string[]): void => {
    const name = qualifiedTypeName(current);
    if (path.includes(name))
      throw new WorkspaceTypeError(`circular dependency detected in workspace type ${name}: ${path.join(' -> ')}`);
    if (closure.has(name)) return;
    for (const base of current.spec?.extend?.with ?? []) {
      const found = types.byPathAndName(base.path ?? typePathOf(current), base.name);
      if (found === undefined) throw new WorkspaceTypeError(`unable to find inherited workspace type ${base.name}`);
      visit(found, [...path, name]);
    }
    closure.set(name, current);
  };
  visit(type, []);
  return [...closure.values()];
}

/** The initializers and terminators of a workspace of these types. */
export function lifecycleOf(closure: readonly Type[]): {
  readonly initializers: string[];
  readonly terminators: string[];
} {
  const initializers = closure.filter(({ spec }) => spec?.initializer === true).map(lifecycleId);
  if (closure.some(({ spec }) => (spec?.defaultAPIBindings ?? []).length > 0))
    initializers.push(apiBindingsInitializer);
  return { initializers, terminators: closure.filter(({ spec }) => spec?.terminator === true).map(lifecycleId) };
}

/** Parses the type annotation of a LogicalCluster, `<path>:<name>`; undefined if it is malformed. */
export function parseQualifiedType(text: string): Required<TypeReference> | undefined {
  const colon = text.lastIndexOf(':');
  return colon <= 0 || colon === text.length - 1
    ? undefined
    : { path: text.slice(0, colon), name: text.slice(colon + 1) };
}
