import {
  isConditionTrue,
  clusterAnnotation,
  deepEqual,
  errorText,
  isStatusError,
  severalAtOnce,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import { apiBindings, type APIBinding, type APIExport } from '@multiplane/apis';
import { AmbiguousPathError, type ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { mutable } from '../runtime/update-status.ts';
import { boundAtOnce, type BoundAtOnceModules } from './bound-at-once.ts';
import {
  defaultBinding,
  defaultBindingName,
  defaultExportsOf,
  type DefaultExport,
  type Exports,
} from './default-bindings.ts';
import type { KcpCondition } from './kcp-conditions.ts';
import { typeAnnotation, type LogicalCluster, type WorkspaceType } from './kinds.ts';
import { parseQualifiedType, resolveTypeClosure, type WorkspaceTypes } from './workspace-type-closure.ts';

type Condition = Omit<KcpCondition, 'lastTransitionTime'>;

export interface DefaultBindingWriterModules extends BoundAtOnceModules {
  readonly client: ObjectClient;
  /**
   * Makes a binding in somebody's name, so that nobody gets through a type what they may not bind; in the system's where
   * nobody is known. A status that it brings along is kept.
   */
  readonly createBinding: (
    cluster: LogicalClusterName,
    binding: APIBinding,
    creator: UserInfo | undefined,
  ) => Promise<unknown>;
  /** Of all shards. */
  readonly types: WorkspaceTypes;
  readonly exports: Exports;
  readonly clock: Clock;
}

/** What became of the default bindings of a logical cluster. */
interface Outcome {
  readonly errors: readonly string[];
  /** What is not through yet, as conditions name it: sorted. */
  readonly waitingFor: readonly string[];
}

/** What waits for the store waits together. */
const bindingsAtOnce = 8;
const missingExport = (what: string): string => `unable to complete ${what}: unable to find at least 1 APIExport`;

/**
 * The default bindings of logical clusters (C5.6, C5.7): made once when a logical cluster begins, and kept up where a type
 * says so. Both end in the same binding, so that neither undoes what the other did.
 */
export class DefaultBindingWriter {
  readonly #modules: DefaultBindingWriterModules;
  constructor(modules: DefaultBindingWriterModules) {
    this.#modules = modules;
  }

  /** Makes what is missing; the condition says what there is to wait for, nothing that all is done. */
  async initialize(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
  ): Promise<{ readonly done: boolean; readonly condition: Condition }> {
    const type = 'APIBindingsInitialized';
    const failed = (reason: string, message: string, severity: 'Error' | 'Info' = 'Error') => ({
      done: false,
      condition: { type, status: 'False' as const, severity, reason, message },
    });
    const closure = this.#closureOf(object);
    if (typeof closure === 'string') return failed('WorkspaceTypesInvalid', closure);
    const { errors, waitingFor } = await this.#bind(object, cluster, defaultExportsOf(closure), 'initialization');
    if (errors.length > 0) return failed('APIBindingErrors', `encountered errors: ${aggregate(errors)}`);
    if (waitingFor.length > 0) {
      const message = `APIBinding(s) not yet fully bound: ${waitingFor.join(', ')}`;
      return failed('WaitingOnAPIBindings', message, 'Info');
    }
    return { done: true, condition: { type, status: 'True' } };
  }

  /** What there is to {@link maintain}. */
  maintainedExports(object: DeepReadonly<LogicalCluster>): DefaultExport[] {
    const closure = this.#closureOf(object);
    return typeof closure === 'string' ? [] : defaultExportsOf(closure).filter(({ maintained }) => maintained);
  }

  /** Whether an export is among that. */
  maintains(object: DeepReadonly<LogicalCluster>, exportCluster: LogicalClusterName, exportName: string): boolean {
    return this.maintainedExports(object).some(({ path, name }) => {
      if (name !== exportName) return false;
      const exported = this.#modules.exports.byPathAndName(path, name);
      return exported === undefined || exportClusterOf(exported) === exportCluster;
    });
  }

  /**
   * Brings the bindings that a type maintains to what the type and the exports say now; those of entries that are gone
   * stay. Undefined: nothing is maintained here.
   */
  async maintain(object: DeepReadonly<LogicalCluster>, cluster: LogicalClusterName): Promise<Condition | undefined> {
    const wanted = this.maintainedExports(object);
    if (wanted.length === 0) return undefined;
    const { errors, waitingFor } = await this.#bind(object, cluster, wanted, 'reconciliation');
    const problem: Condition = {
      type: 'APIBindingsReconciled',
      status: 'False',
      severity: 'Info',
      reason: 'WaitingOnAPIBindings',
    };
    // The reference only logs errors; whoever waits for an export is told here.
    if (errors.length > 0)
      return {
        ...problem,
        severity: 'Error',
        reason: 'APIBindingErrors',
        message: `encountered errors: ${aggregate(errors)}`,
      };
    return waitingFor.length > 0
      ? { ...problem, message: `APIBinding(s) not yet fully reconciled: ${waitingFor.join(', ')}` }
      : { type: 'APIBindingsReconciled', status: 'True' };
  }

  /** The types of a logical cluster, bases first; a text says why there are none. */
  #closureOf(object: DeepReadonly<LogicalCluster>): readonly DeepReadonly<WorkspaceType>[] | string {
    const { types } = this.#modules;
    const named = parseQualifiedType(object.metadata.annotations?.[typeAnnotation] ?? '');
    if (named === undefined) return [];
    try {
      const type = types.byPathAndName(named.path, named.name);
      if (type === undefined)
        return `error getting WorkspaceType ${named.path}|${named.name}: workspacetypes.tenancy.kcp.io "${named.name}" not found`;
      return resolveTypeClosure(types, type);
    } catch (error) {
      return `error resolving transitive set of workspace types: ${errorText(error)}`;
    }
  }

  async #bind(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    wanted: readonly DefaultExport[],
    what: 'initialization' | 'reconciliation',
  ): Promise<Outcome> {
    /** By the place of the export among those that are wanted. */
    const errors: string[] = [];
    const waitingFor: string[] = [];
    const existing = wanted.length === 0 ? [] : this.#bindings.list({ cluster });
    await severalAtOnce(wanted.entries(), bindingsAtOnce, async ([place, reference]) => {
      try {
        const exported = this.#modules.exports.byPathAndName(reference.path, reference.name);
        if (exported === undefined) {
          const missing = missingExport(what);
          if (!errors.includes(missing)) errors[place] = missing;
          return;
        }
        const problem = await this.#bindOne(object, cluster, reference, exported, existing, what);
        if (problem !== undefined) waitingFor.push(problem);
      } catch (error) {
        if (isStatusError(error, 'Conflict') || !(error instanceof AmbiguousPathError || isStatusError(error)))
          throw error;
        errors[place] = errorText(error);
      }
    });
    return { errors: errors.filter((error) => error !== undefined), waitingFor: waitingFor.sort() };
  }

  /** What of one export there is to wait for; undefined when nothing is left. */
  async #bindOne(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    reference: DefaultExport,
    exported: DeepReadonly<APIExport>,
    existing: readonly DeepReadonly<APIBinding>[],
    what: 'initialization' | 'reconciliation',
  ): Promise<string | undefined> {
    const name = defaultBindingName(cluster, reference);
    const binding = defaultBinding(name, reference, exported);
    const generated = existing.find(({ metadata }) => metadata.name === name);
    // One that somebody made for the same export, under a name of their own, is as good.
    const current = generated ?? existing.find((one) => isOf(one, reference));
    if (generated !== undefined && what === 'reconciliation' && !sameSpec(generated, binding)) {
      await this.#modules.client.update(apiBindings, cluster, mutable(generated, { spec: binding.spec }));
      return name;
    }
    if (current !== undefined) {
      const problem = incompleteness(current);
      return problem === undefined ? undefined : `${current.metadata.name ?? ''}${problem}`;
    }
    const status = boundAtOnce(binding, exported, object, this.#modules, new Date(this.#modules.clock.now()));
    const creator = what === 'initialization' ? creatorOf(object) : undefined;
    try {
      await this.#modules.createBinding(cluster, status === undefined ? binding : { ...binding, status }, creator);
    } catch (error) {
      // Made by an earlier attempt that nobody has heard of yet: its event brings the logical cluster back.
      if (!isStatusError(error, 'AlreadyExists')) throw error;
      return `for APIExport ${reference.path}|${reference.name}`;
    }
    return status === undefined ? `for APIExport ${reference.path}|${reference.name}` : undefined;
  }

  get #bindings() {
    return this.#modules.informers.informer<APIBinding>(apiBindings);
  }
}

const exportClusterOf = ({ metadata }: DeepReadonly<APIExport>): LogicalClusterName =>
  (metadata.annotations?.[clusterAnnotation] ?? '') as LogicalClusterName;

const isOf = ({ spec }: DeepReadonly<APIBinding>, { path, name }: DefaultExport): boolean =>
  spec?.reference?.export?.path === path && spec.reference.export.name === name;

const sameSpec = (a: DeepReadonly<APIBinding>, b: APIBinding): boolean =>
  deepEqual(a.spec ?? {}, (b.spec ?? {}) as unknown as Json);

/** What follows the name of a binding that is not through; undefined for one that is. */
function incompleteness({ spec, status }: DeepReadonly<APIBinding>): string | undefined {
  if (!isConditionTrue(status?.conditions, 'InitialBindingCompleted')) return '';
  const claims = (spec?.permissionClaims ?? []).some(({ state }) => state === 'Accepted');
  return claims && !isConditionTrue(status?.conditions, 'PermissionClaimsApplied')
    ? ' waiting for permission claims to be applied'
    : undefined;
}

/** Who made the workspace, with the groups that were recorded then; undefined where it was the system. */
function creatorOf({ spec }: DeepReadonly<LogicalCluster>): UserInfo | undefined {
  const { username = '', uid = '', groups = [], extra = {} } = spec?.createdBy ?? {};
  return username === '' ? undefined : { name: username, uid, groups, extra };
}

/** As Go prints several errors as one. */
const aggregate = (errors: readonly string[]): string =>
  errors.length === 1 ? (errors[0] as string) : `[${[...new Set(errors)].join(', ')}]`;
