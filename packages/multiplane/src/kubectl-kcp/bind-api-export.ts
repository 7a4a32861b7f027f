import { isLogicalClusterPath, isStatusError, type KubeObject } from '@multiplane/apimachinery';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { poll } from '../kubectl-ws/poll.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import { changeClaims } from './claims.ts';
import {
  claimWithState,
  apiBindings,
  apiExports,
  boundResourceRows,
  groupResourceText,
  parseGroupResource,
  tableText,
  type Binding,
  type Claim,
  type ClaimState,
  type Export,
} from './permission-claims.ts';

export interface BindFlags {
  readonly name?: string;
  readonly timeoutMs: number;
  readonly acceptPermissionClaim?: readonly string[];
  readonly rejectPermissionClaim?: readonly string[];
  readonly acceptAllPermissionClaims?: boolean;
  readonly rejectAllPermissionClaims?: boolean;
}

/** The validated arguments of `kubectl kcp bind apiexport`. */
export interface BindRequest {
  readonly path: string;
  readonly exportName: string;
  readonly bindingName: string;
  readonly timeoutMs: number;
  /** The state of individual claims. */
  readonly claimStates: readonly { readonly group: string; readonly resource: string; readonly state: ClaimState }[];
  /** The state of all claims. */
  readonly allClaims: ClaimState | undefined;
}

/** Validates the arguments. Throws the texts of kcp's plugin. */
export function parseBindRequest(reference: string | undefined, flags: BindFlags): BindRequest {
  const { acceptPermissionClaim: accept = [], rejectPermissionClaim: reject = [] } = flags;
  const [acceptAll, rejectAll] = [flags.acceptAllPermissionClaims === true, flags.rejectAllPermissionClaims === true];
  if (reference === undefined || reference === '')
    throw new Error('`root:ws:apiexport_object` reference to bind is required as an argument');
  const problem = [
    [acceptAll && rejectAll, 'cannot use both --accept-all-permission-claims and --reject-all-permission-claims'],
    [acceptAll && accept.length > 0, 'cannot use --accept-all-permission-claims with --accept-permission-claim'],
    [
      acceptAll && reject.length > 0,
      'cannot use --accept-all-permission-claims together with --reject-permission-claim',
    ],
    [rejectAll && reject.length > 0, 'cannot use --reject-all-permission-claims with --reject-permission-claim'],
    [
      rejectAll && accept.length > 0,
      'cannot use --reject-all-permission-claims together with --accept-permission-claim',
    ],
  ].find(([applies]) => applies);
  if (problem !== undefined) throw new Error(String(problem[1]));
  const colon = reference.lastIndexOf(':');
  const [path, exportName] = [reference.slice(0, Math.max(colon, 0)), reference.slice(colon + 1)];
  if (!isLogicalClusterPath(path))
    throw new Error(
      'fully qualified reference to workspace where APIExport exists is required. The format is `<logical-cluster-name>:<apiexport>` or `<full>:<path>:<to>:<apiexport>`',
    );
  const accepted = parseClaims(accept, 'accepted');
  const rejected = parseClaims(reject, 'rejected');
  for (const claim of accepted) {
    const text = groupResourceText(claim);
    if (rejected.some((other) => groupResourceText(other) === text))
      throw new Error(`accepted permission claim ${text} conflicts with rejected permission claim ${text}`);
  }
  return {
    path,
    exportName,
    bindingName: flags.name ?? exportName,
    timeoutMs: flags.timeoutMs,
    claimStates: [
      ...accepted.map((claim) => ({ ...claim, state: 'Accepted' as const })),
      ...rejected.map((claim) => ({ ...claim, state: 'Rejected' as const })),
    ],
    allClaims: acceptAll ? 'Accepted' : rejectAll ? 'Rejected' : undefined,
  };
}

function parseClaims(texts: readonly string[], what: string): { group: string; resource: string }[] {
  const bad = texts.filter((text) => !text.includes('.'));
  if (bad.length > 0) {
    const problems = bad.map((text) => `invalid permission claim ${JSON.stringify(text)}`);
    throw new Error(`invalid ${what} permission claims: [${problems.join(' ')}]`);
  }
  return texts.map(parseGroupResource);
}

/**
 * Creates an APIBinding and waits until it is bound. A user who may bind an export need not be allowed to read it; in that
 * case claims are accepted or rejected afterwards, from `status.exportPermissionClaims` of the binding.
 */
export async function bindApiExport(request: BindRequest, { client, url, out }: CommandModules): Promise<void> {
  const { path, exportName, bindingName } = request;
  const { path: workspace } = parseWorkspaceUrl(url);
  const claims = await exportedClaims(request, client);
  const object: KubeObject = {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: bindingName },
    spec: {
      reference: { export: { path, name: exportName } },
      ...(claims === undefined ? {} : { permissionClaims: claimsFor(claims, request) }),
    },
  };
  try {
    await client.objects.create(apiBindings, workspace, object);
  } catch (error) {
    throw new Error(`failed to create APIBinding: ${(error as Error).message}`, { cause: error });
  }
  out(`apibinding ${bindingName} created. Waiting to successfully bind ...`);
  let last: Binding | undefined;
  const bound = await poll(request.timeoutMs, async () => {
    last = await client.objects.get<Binding>(apiBindings, { workspace, name: bindingName });
    return last.status?.phase === 'Bound' ? last : undefined;
  });
  if (bound === undefined)
    throw new Error(`could not bind ${bindingName}: context deadline exceeded${failedConditions(last)}`);
  if (claims === undefined && specifiesClaims(request))
    await changeClaims(bindingName, { client, url }, ({ status }) =>
      claimsFor(status?.exportPermissionClaims ?? [], request),
    );
  out(`${bindingName} created and bound.`);
  printVirtualResources(bound, out);
}

/** Prints nothing without virtual resources: kcp's plugin has no such output. */
function printVirtualResources(bound: Binding, out: CommandModules['out']): void {
  const rows = boundResourceRows(bound);
  if (rows.some(([, storage]) => storage === 'virtual')) out(tableText([['RESOURCE', 'STORAGE'], ...rows]));
}

const specifiesClaims = ({ claimStates, allClaims }: BindRequest): boolean =>
  claimStates.length > 0 || allClaims !== undefined;

/** The claims of the export; undefined when the request does not specify any, or the user may not read the export. */
async function exportedClaims(
  request: BindRequest,
  client: CommandModules['client'],
): Promise<readonly Claim[] | undefined> {
  if (!specifiesClaims(request)) return undefined;
  const { path, exportName } = request;
  try {
    const object = await client.objects.get<Export>(apiExports, { workspace: path, name: exportName });
    return object.spec?.permissionClaims ?? [];
  } catch (error) {
    // Creating the binding reports a missing export.
    if (isStatusError(error) && (error.code === 403 || error.code === 404)) return undefined;
    throw new Error(`failed to get APIExport ${JSON.stringify(exportName)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** The claims of the binding. A claim that the export does not have is added as specified. */
function claimsFor(exported: readonly Claim[], { claimStates, allClaims }: BindRequest): Claim[] {
  if (allClaims !== undefined) return exported.map((claim) => claimWithState(claim, allClaims));
  return claimStates.flatMap(({ group, resource, state }) => {
    const matching = exported.filter((claim) => claim.resource === resource && (claim.group ?? '') === group);
    return (matching.length === 0 ? [{ group, resource }] : matching).map((claim) => claimWithState(claim, state));
  });
}

/** The failed conditions of a binding that is not bound. */
export function failedConditions(binding: Binding | undefined): string {
  const failures = (binding?.status?.conditions ?? []).filter(
    ({ type, status, message = '' }) => type !== 'Ready' && status === 'False' && message !== '',
  );
  const messages = new Set(failures.map(({ reason = '', message = '' }) => `${reason}: ${message}`));
  return messages.size === 0 ? '' : ` (${[...messages].join('; ')})`;
}
