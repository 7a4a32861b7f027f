import { clusterAnnotation, pathAnnotation, type DeepReadonly } from '@multiplane/apimachinery';
import type { PathAndNameLookup } from '@multiplane/client';
import type { TypeReference, WorkspaceType } from './kinds.ts';

/** Finds a WorkspaceType of any shard by where it lives: a canonical path or the name of a logical cluster. */
export type WorkspaceTypes = Pick<PathAndNameLookup<WorkspaceType>, 'byPathAndName'>;

type Type = DeepReadonly<WorkspaceType>;

/** The initializer that stands for the default bindings of a type (C2.2). */
export const apiBindingsInitializer = 'system:apibindings';

/** Why the types a workspace is made of cannot be put together; the message is for the user (C6.8). */
export class WorkspaceTypeError extends Error {
  override readonly name = 'WorkspaceTypeError';
}

/** Canonical path of the logical cluster a type lives in. */
export function typePathOf({ metadata }: Type): string {
  return metadata.annotations?.[pathAnnotation] ?? metadata.annotations?.[clusterAnnotation] ?? '';
}

/** `<canonical path>:<name>`, as messages and limits name a type. */
export function qualifiedTypeName(type: Type): string {
  return `${typePathOf(type)}:${type.metadata.name ?? ''}`;
}

/** `<logical cluster>:<name>`: what a type is called as an initializer or terminator (C2.2). */
export function lifecycleId({ metadata }: Type): string {
  return `${metadata.annotations?.[clusterAnnotation] ?? ''}:${metadata.name ?? ''}`;
}

/**
 * A type and everything it extends, bases first, each once (C6.8). Throws WorkspaceTypeError when a base is missing or a
 * type extends itself.
 */
export function resolveTypeClosure(types: WorkspaceTypes, type: Type): readonly Type[] {
  const closure = new Map<string, Type>();
  const visit = (current: Type, way: readonly string[]): void => {
    const name = qualifiedTypeName(current);
    if (way.includes(name))
      throw new WorkspaceTypeError(`circular dependency detected in workspace type ${name}: ${way.join(' -> ')}`);
    if (closure.has(name)) return;
    for (const base of current.spec?.extend?.with ?? []) {
      const found = types.byPathAndName(base.path ?? typePathOf(current), base.name);
      if (found === undefined) throw new WorkspaceTypeError(`unable to find inherited workspace type ${base.name}`);
      visit(found, [...way, name]);
    }
    closure.set(name, current);
  };
  visit(type, []);
  return [...closure.values()];
}

/** What a new workspace waits for before it is Ready, and before it is gone (C5.1). */
export function lifecycleOf(closure: readonly Type[]): {
  readonly initializers: string[];
  readonly terminators: string[];
} {
  const initializers = closure.filter(({ spec }) => spec?.initializer === true).map(lifecycleId);
  if (closure.some(({ spec }) => (spec?.defaultAPIBindings ?? []).length > 0))
    initializers.push(apiBindingsInitializer);
  return { initializers, terminators: closure.filter(({ spec }) => spec?.terminator === true).map(lifecycleId) };
}

/** The type of a reference as the annotation on a LogicalCluster spells it: `<path>:<name>`; undefined for anything else. */
export function parseQualifiedType(text: string): Required<TypeReference> | undefined {
  const colon = text.lastIndexOf(':');
  return colon <= 0 || colon === text.length - 1
    ? undefined
    : { path: text.slice(0, colon), name: text.slice(colon + 1) };
}
