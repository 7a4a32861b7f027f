import type { CommandModules } from '../kubectl-ws/commands.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import { answeredClaims, claimText, type AnsweredClaim } from './claim-text.ts';
import { claimedObjects } from './claimed-objects.ts';
import { apiBindings, type Binding } from './permission-claims.ts';

/** Objects that a preview names, of each claim. */
const maxShown = 20;

/** `kubectl kcp claims show [<apibinding>] [--preview]`: a line per claim, and with `preview` the objects that it is for. */
export async function showClaims(
  name: string | undefined,
  { preview = false }: { readonly preview?: boolean | undefined },
  { client, url, out }: CommandModules,
): Promise<void> {
  const { path: workspace } = parseWorkspaceUrl(url);
  const bindings =
    name === undefined
      ? await client.objects.list<Binding>(apiBindings, workspace)
      : [await client.objects.get<Binding>(apiBindings, { workspace, name })];
  for (const binding of bindings) {
    const claims = answeredClaims(binding);
    const { path, name: exported = '' } = binding.spec?.reference?.export ?? {};
    const provider = path === undefined ? exported : `${path}:${exported}`;
    out(
      `APIBinding ${binding.metadata.name ?? ''}: the provider of ${provider} ${claims.length === 0 ? 'claims nothing.' : 'asks for'}`,
    );
    for (const { state, claim } of claims) {
      out(`  ${claimText(claim)} (${state === 'Not answered' ? 'not answered: no access' : state.toLowerCase()})`);
      if (preview) await previewClaim(claim, workspace, { client, out });
    }
  }
}

async function previewClaim(
  claim: AnsweredClaim['claim'],
  workspace: string,
  { client, out }: Pick<CommandModules, 'client' | 'out'>,
): Promise<void> {
  let count = 0;
  for await (const object of claimedObjects(claim, workspace, client)) if (count++ < maxShown) out(`    ${object}`);
  if (count === 0) out('    no object now');
  else if (count > maxShown) out(`    and ${count - maxShown} more`);
}
