import { isStatusError } from '@multiplane/apimachinery';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import {
  apiBindings,
  claimRows,
  updateClaims,
  tableText,
  type Binding,
  type Claim,
  type ClaimFilter,
  type ClaimState,
} from './permission-claims.ts';

const maxConflicts = 10;

/** `kubectl kcp claims get apibinding [<name>]`. */
export async function getClaims(name: string | undefined, { client, url, out }: CommandModules): Promise<void> {
  const { path: workspace } = parseWorkspaceUrl(url);
  const bindings =
    name === undefined
      ? await withErrorPrefix(`error listing APIBindings in ${JSON.stringify(workspace)} workspace`, () =>
          client.objects.list<Binding>(apiBindings, workspace),
        )
      : await withErrorPrefix('error finding APIBinding', async () => [
          await client.objects.get<Binding>(apiBindings, { workspace, name }),
        ]);
  out(tableText([['APIBINDING', 'GROUP-RESOURCE', 'VERBS', 'STATUS'], ...claimRows(bindings)]));
}

/** `kubectl kcp claims accept|reject <apibinding>`. */
export async function setClaims(
  name: string,
  filter: ClaimFilter,
  state: ClaimState,
  modules: CommandModules,
): Promise<void> {
  await withErrorPrefix(`error updating permission claim for APIBinding ${JSON.stringify(name)}`, () =>
    setClaimStates(name, filter, state, modules),
  );
  const what =
    filter.resource !== undefined
      ? `claim ${JSON.stringify(filter.resource)} `
      : filter.identityHash !== undefined
        ? `claim with identity hash ${JSON.stringify(filter.identityHash)} `
        : '';
  modules.out(`${what}on APIBinding ${JSON.stringify(name)} is ${state.toLowerCase()}`);
}

/** Sets the state of claims of a binding. Throws when no claim matches. */
async function setClaimStates(
  name: string,
  filter: ClaimFilter,
  state: ClaimState,
  modules: Pick<CommandModules, 'client' | 'url'>,
): Promise<void> {
  await changeClaims(name, modules, (binding) => {
    const claims = updateClaims(binding, filter, state);
    if (claims !== undefined) return claims;
    const wanted = filter.resource ?? `with identity hash ${filter.identityHash ?? ''}`;
    throw new Error(`neither it nor its APIExport has a permission claim ${wanted}`);
  });
}

/** Updates the claims of a binding; retries on conflicts, mostly with its controller. */
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

async function withErrorPrefix<T>(prefix: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw new Error(`${prefix}: ${(error as Error).message}`, { cause: error });
  }
}
