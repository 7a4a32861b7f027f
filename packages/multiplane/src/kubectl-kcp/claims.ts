import { isStatusError } from '@multiplane/apimachinery';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import {
  apiBindings,
  claimRows,
  decide,
  tableText,
  type Binding,
  type Claim,
  type ClaimFilter,
  type ClaimState,
} from './permission-claims.ts';

const maxConflicts = 10;

/** `kubectl kcp claims get apibinding [<name>]` (C13.6). */
export async function getClaims(name: string | undefined, { client, url, out }: CommandModules): Promise<void> {
  const { path: workspace } = parseWorkspaceUrl(url);
  const bindings =
    name === undefined
      ? await explained(`error listing APIBindings in ${JSON.stringify(workspace)} workspace`, () =>
          client.objects.list<Binding>(apiBindings, workspace),
        )
      : await explained('error finding APIBinding', async () => [
          await client.objects.get<Binding>(apiBindings, { workspace, name }),
        ]);
  out(tableText([['APIBINDING', 'GROUP-RESOURCE', 'VERBS', 'STATUS'], ...claimRows(bindings)]));
}

/** `kubectl kcp claims accept|reject <apibinding>` (C13.6). */
export async function setClaims(
  name: string,
  filter: ClaimFilter,
  state: ClaimState,
  modules: CommandModules,
): Promise<void> {
  await explained(`error updating permission claim for APIBinding ${JSON.stringify(name)}`, () =>
    answerClaims(name, filter, state, modules),
  );
  const what =
    filter.resource !== undefined
      ? `claim ${JSON.stringify(filter.resource)} `
      : filter.identityHash !== undefined
        ? `claim with identity hash ${JSON.stringify(filter.identityHash)} `
        : '';
  modules.out(`${what}on APIBinding ${JSON.stringify(name)} is ${state.toLowerCase()}`);
}

/** Answers claims of a binding. Throws when there is no such claim. */
async function answerClaims(
  name: string,
  filter: ClaimFilter,
  state: ClaimState,
  modules: Pick<CommandModules, 'client' | 'url'>,
): Promise<void> {
  await changeClaims(name, modules, (binding) => {
    const claims = decide(binding, filter, state);
    if (claims !== undefined) return claims;
    const meant = filter.resource ?? `with identity hash ${filter.identityHash ?? ''}`;
    throw new Error(`neither it nor its APIExport has a permission claim ${meant}`);
  });
}

/** Writes the claims of a binding; once more when somebody else, mostly its controller, wrote it in between. */
export async function changeClaims(
  name: string,
  { client, url }: Pick<CommandModules, 'client' | 'url'>,
  change: (binding: Binding) => readonly Claim[],
): Promise<void> {
  const { path: workspace } = parseWorkspaceUrl(url);
  for (let conflicts = 0; ; conflicts++) {
    const binding = await client.objects.get<Binding>(apiBindings, { workspace, name });
    const spec = { ...binding.spec, permissionClaims: change(binding) };
    try {
      await client.objects.update(apiBindings, workspace, { ...binding, spec });
      return;
    } catch (error) {
      if (!isStatusError(error, 'Conflict') || conflicts === maxConflicts) throw error;
    }
  }
}

async function explained<T>(what: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new Error(`${what}: ${(error as Error).message}`, { cause: error });
  }
}
