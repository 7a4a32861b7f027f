import type { DeepReadonly } from '@multiplane/apimachinery';
import { qualifiedTypeName, type WorkspaceType } from '@multiplane/controllers';

type Type = DeepReadonly<WorkspaceType>;

/**
 * Checks `limitAllowedParents` of the child type and `limitAllowedChildren` of the parent type (kcp
 * `pkg/admission/workspacetypeexists`). Both arguments list a type after all types that it extends: the limits of each apply,
 * and each satisfies a limit that names it. Returns the reason of a violation.
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
