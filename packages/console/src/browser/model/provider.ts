import type { Condition, KubeObject } from '../data/kube-object.ts';
import { claimWords } from './claim-words.ts';
import { conditionTone, type Tone } from './tone.ts';

/** A claim of an export, or its state in a binding. */
export interface Claim {
  readonly group?: string;
  readonly resource: string;
  readonly verbs?: readonly string[];
  readonly state?: string;
}

export interface ApiExport extends KubeObject {
  readonly spec?: {
    readonly resources?: readonly {
      readonly group?: string;
      readonly name: string;
      readonly schema: string;
      readonly storage?: {
        readonly virtual?: { readonly reference?: { readonly kind?: string; readonly name?: string } };
      };
    }[];
    readonly permissionClaims?: readonly Claim[];
    readonly maximalPermissionPolicy?: { readonly local?: object };
  };
  readonly status?: { readonly identityHash?: string; readonly conditions?: readonly Condition[] };
}

export interface ApiResourceSchema extends KubeObject {
  readonly spec: {
    readonly names: { readonly kind: string; readonly plural: string };
    readonly scope: string;
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
      readonly deprecated?: boolean;
    }[];
  };
}

export interface EndpointSlice extends KubeObject {
  readonly spec?: { readonly export?: { readonly name?: string; readonly path?: string } };
  readonly status?: {
    readonly endpoints?: readonly { readonly url: string }[];
    readonly conditions?: readonly Condition[];
  };
}

export interface ExportScope extends KubeObject {
  readonly spec: {
    readonly export: { readonly name: string; readonly path?: string };
    readonly transfer?: string;
    readonly transferDeadlineSeconds?: number;
    readonly permissionClaims?: string;
  };
  readonly status?: {
    readonly key?: string;
    readonly value?: string;
    readonly shards?: readonly { readonly name: string; readonly objects?: number }[];
    readonly conditions?: readonly Condition[];
  };
}

export interface CachedResource extends KubeObject {
  readonly spec: {
    readonly group?: string;
    readonly version: string;
    readonly resource: string;
    readonly labelSelector?: Readonly<Record<string, string>>;
  };
  readonly status?: {
    readonly phase?: string;
    readonly resourceCounts?: { readonly cache?: number; readonly local?: number };
    readonly conditions?: readonly Condition[];
  };
}

export interface State {
  readonly tone: Tone;
  readonly text: string;
  /** Says more than the word. */
  readonly detail?: string;
}

/** The first condition that is not met; undefined where all are. */
export function firstProblem(conditions: readonly Condition[] = []): Condition | undefined {
  const rank = { bad: 0, warn: 1, neutral: 2, info: 3, good: 4 };
  const [worst] = conditions.toSorted((a, b) => rank[conditionTone(a)] - rank[conditionTone(b)]);
  return worst === undefined || conditionTone(worst) === 'good' ? undefined : worst;
}

/** Ready once an export has its identity and every condition is met. */
export function stateOf({ metadata, status }: ApiExport): State {
  if (metadata.deletionTimestamp !== undefined) return { tone: 'warn', text: 'Deleting' };
  const problem = firstProblem(status?.conditions);
  if (problem !== undefined)
    return {
      tone: conditionTone(problem) === 'neutral' ? 'info' : 'bad',
      text: problem.type,
      detail: [problem.reason, problem.message].filter(Boolean).join(': '),
    };
  return status?.identityHash === undefined ? { tone: 'info', text: 'Preparing' } : { tone: 'good', text: 'Ready' };
}

export interface ExportedResource {
  readonly key: string;
  readonly group: string;
  readonly resource: string;
  readonly schema: string;
  readonly kind: string | undefined;
  readonly scope: string | undefined;
  readonly versions: readonly { readonly name: string; readonly note: string }[];
  /** Where objects are. */
  readonly storage: string;
  /** The schema is named and does not exist. */
  readonly isMissing: boolean;
}

/** What an export offers, with the schemas it names. `schemas`: undefined while they are not known. */
export function exportedResources(
  exported: ApiExport,
  schemas: ReadonlyMap<string, ApiResourceSchema> | undefined,
): readonly ExportedResource[] {
  return (exported.spec?.resources ?? []).map(({ group = '', name, schema, storage }) => {
    const found = schemas?.get(schema);
    const reference = storage?.virtual?.reference;
    return {
      key: `${name}.${group}`,
      group,
      resource: name,
      schema,
      kind: found?.spec.names.kind,
      scope: found?.spec.scope,
      versions: (found?.spec.versions ?? []).map((version) => ({ name: version.name, note: noteOf(version) })),
      storage:
        storage?.virtual === undefined
          ? 'In the workspaces of consumers'
          : `Virtual, from ${reference?.kind ?? 'an endpoint slice'} ${reference?.name ?? ''}`.trim(),
      isMissing: schemas !== undefined && found === undefined,
    };
  });
}

function noteOf(version: ApiResourceSchema['spec']['versions'][number]): string {
  const notes = [
    version.storage ? 'stored' : '',
    version.served ? '' : 'not served',
    version.deprecated === true ? 'deprecated' : '',
  ];
  return notes.filter((note) => note !== '').join(', ');
}

/** The endpoint slices of an export. One without a path is about an export of its own workspace. */
export const slicesOf = (
  slices: readonly EndpointSlice[],
  { name, paths }: { readonly name: string; readonly paths: ReadonlySet<string> },
): readonly EndpointSlice[] =>
  slices.filter(({ spec }) => {
    const reference = spec?.export;
    return reference?.name === name && (!reference.path || paths.has(reference.path));
  });

/** How many of the claims of an export a consumer has accepted. */
export function claimState(claims: readonly Claim[]): State {
  if (claims.length === 0) return { tone: 'neutral', text: 'None' };
  const accepted = claims.filter(({ state }) => state === 'Accepted').length;
  const detail = claims.map((claim) => `${claim.state ?? 'Undecided'}: ${claimWords(claim).title}`).join('\n');
  return accepted === claims.length
    ? { tone: 'good', text: accepted === 1 ? 'Accepted' : `All ${accepted} accepted`, detail }
    : { tone: 'warn', text: `${accepted} of ${claims.length} accepted`, detail };
}

/** The objects of a scope on all shards. */
export const scopeObjects = ({ status }: ExportScope): number =>
  (status?.shards ?? []).reduce((sum, { objects = 0 }) => sum + objects, 0);

const transfers: Readonly<Record<string, string>> = {
  WhenFinalizersGone: 'When finalizers are gone',
  Forbidden: 'Forbidden',
};
export const transferText = (transfer = ''): string => transfers[transfer] ?? transfer;

/** Whether consumers read what is in the workspace. */
export function freshnessOf({ metadata, status }: CachedResource): State {
  if (metadata.deletionTimestamp !== undefined) return { tone: 'warn', text: 'Deleting' };
  const problem = firstProblem(status?.conditions);
  if (problem !== undefined)
    return {
      tone: 'bad',
      text: problem.type,
      detail: [problem.reason, problem.message].filter(Boolean).join(': '),
    };
  const { cache, local } = status?.resourceCounts ?? {};
  if (cache === undefined || local === undefined)
    return { tone: 'info', text: status?.phase ?? 'Preparing', detail: 'Nothing is counted yet.' };
  const difference = Math.abs(local - cache);
  return difference === 0
    ? { tone: 'good', text: 'Up to date' }
    : { tone: 'info', text: `${difference} ${local > cache ? 'not cached yet' : 'to be removed'}` };
}
