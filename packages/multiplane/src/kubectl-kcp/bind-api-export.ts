import { isLogicalClusterPath, isStatusError, type KubeObject } from '@multiplane/apimachinery';
import type { CommandModules } from '../kubectl-ws/commands.ts';
import { poll } from '../kubectl-ws/poll.ts';
import { parseWorkspaceUrl } from '../kubectl-ws/workspace-url.ts';
import { changeClaims } from './claims.ts';
import {
  answered,
  apiBindings,
  apiExports,
  groupResourceText,
  parseGroupResource,
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

/** `kubectl kcp bind apiexport`, checked. */
export interface BindRequest {
  readonly path: string;
  readonly exportName: string;
  readonly bindingName: string;
  readonly timeoutMs: number;
  /** Answers to single claims of the export. */
  readonly answers: readonly { readonly group: string; readonly resource: string; readonly state: ClaimState }[];
  /** The answer to all claims of the export. */
  readonly all: ClaimState | undefined;
}

/** Throws what kcp's plugin says about arguments that make no sense (C13.5). */
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
    answers: [
      ...accepted.map((claim) => ({ ...claim, state: 'Accepted' as const })),
      ...rejected.map((claim) => ({ ...claim, state: 'Rejected' as const })),
    ],
    all: acceptAll ? 'Accepted' : rejectAll ? 'Rejected' : undefined,
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
 * Creates a binding and waits until it is bound. Claims are answered as the export makes them. Whoever may bind an export
 * need not be allowed to read it: then claims are answered afterwards, from what the binding itself tells about them.
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
      ...(claims === undefined ? {} : { permissionClaims: answersTo(claims, request) }),
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
  if (bound === undefined) throw new Error(`could not bind ${bindingName}: context deadline exceeded${whyNot(last)}`);
  if (claims === undefined && isAboutClaims(request))
    await changeClaims(bindingName, { client, url }, ({ status }) =>
      answersTo(status?.exportPermissionClaims ?? [], request),
    );
  out(`${bindingName} created and bound.`);
}

const isAboutClaims = ({ answers, all }: BindRequest): boolean => answers.length > 0 || all !== undefined;

/** What the export claims; undefined when nothing is to be said about it, or the caller may not read it. */
async function exportedClaims(
  request: BindRequest,
  client: CommandModules['client'],
): Promise<readonly Claim[] | undefined> {
  if (!isAboutClaims(request)) return undefined;
  const { path, exportName } = request;
  try {
    const object = await client.objects.get<Export>(apiExports, { workspace: path, name: exportName });
    return object.spec?.permissionClaims ?? [];
  } catch (error) {
    // Creating the binding tells what is wrong about an export that is not there.
    if (isStatusError(error) && (error.code === 403 || error.code === 404)) return undefined;
    throw new Error(`failed to get APIExport ${JSON.stringify(exportName)}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** The claims of the binding. What is answered and not claimed is kept as it was typed, for the day it is. */
function answersTo(exported: readonly Claim[], { answers, all }: BindRequest): Claim[] {
  if (all !== undefined) return exported.map((claim) => answered(claim, all));
  return answers.flatMap(({ group, resource, state }) => {
    const meant = exported.filter((claim) => claim.resource === resource && (claim.group ?? '') === group);
    return (meant.length === 0 ? [{ group, resource }] : meant).map((claim) => answered(claim, state));
  });
}

/** What the conditions of a binding that is not bound say. */
function whyNot(binding: Binding | undefined): string {
  const failures = (binding?.status?.conditions ?? []).filter(
    ({ type, status, message = '' }) => type !== 'Ready' && status === 'False' && message !== '',
  );
  const messages = new Set(failures.map(({ reason = '', message = '' }) => `${reason}: ${message}`));
  return messages.size === 0 ? '' : ` (${[...messages].join('; ')})`;
}
