import type { DeepReadonly } from '@multiplane/apimachinery';
import { qualifiedTypeName, type WorkspaceType } from '@multiplane/controllers';

type Type = DeepReadonly<WorkspaceType>;

/**
 * Why a workspace of one type may not stand below one of another; undefined when it may (C6.8). Both come with all that
 * they extend, the type itself last: a rule of any of these holds, and each of them satisfies a rule.
 */
export function limitProblem(child: readonly Type[], parent: readonly Type[]): string | undefined {
  return (
    sideProblem(child, parent, 'limitAllowedParents', 'parent') ??
    sideProblem(parent, child, 'limitAllowedChildren', 'child')
  );
}

function sideProblem(
  own: readonly Type[],
  other: readonly Type[],
  limit: 'limitAllowedParents' | 'limitAllowedChildren',
  role: 'parent' | 'child',
): string | undefined {
  const type = own.at(-1);
  const named = other.at(-1);
  if (type === undefined || named === undefined) return undefined;
  const implemented = other.map(qualifiedTypeName).sort();
  for (const alias of own) {
    const rule = alias.spec?.[limit];
    if (rule?.none === true) return `workspace type ${qualifiedTypeName(type)} cannot have any ${role}`;
    if (rule?.types === undefined || rule.types.length === 0) continue;
    const allowed = rule.types.map(({ path, name }) => `${path ?? ''}:${name}`).sort();
    if (allowed.some((name) => implemented.includes(name))) continue;
    const inherited = alias === type ? '' : ` extends ${qualifiedTypeName(alias)}, which`;
    return `workspace type ${qualifiedTypeName(type)}${inherited} only allows [${allowed.join(' ')}] ${role} workspaces, but ${role} type ${qualifiedTypeName(named)} only implements [${implemented.join(' ')}]`;
  }
  return undefined;
}
