import {
  isConditionTrue,
  clusterAnnotation,
  deepEqual,
  errorText,
  isStatusError,
  mapConcurrently,
  type DeepReadonly,
  type Json,
  type LogicalClusterName,
  type UserInfo,
} from '@multiplane/apimachinery';
import { apiBindings, type APIBinding, type APIExport } from '@multiplane/apis';
import { AmbiguousPathError, type ObjectClient } from '@multiplane/client';
import type { Clock } from '@multiplane/component-base';
import { claimedResourceNotFound } from '../apis/permission-claim-conditions.ts';
import { withChanges } from '../runtime/object-writes.ts';
import { precomputeBoundStatus, type PrecomputeModules } from './precompute-bound-status.ts';
import {
  defaultBinding,
  defaultBindingName,
  defaultExportsOf,
  type DefaultExport,
  type ExportLookup,
} from './default-bindings.ts';
import type { NewKcpCondition } from '../runtime/kcp-conditions.ts';
import { typeAnnotation, type LogicalCluster, type WorkspaceType } from './kinds.ts';
import { parseQualifiedType, resolveTypeClosure, type WorkspaceTypeLookup } from './workspace-type-closure.ts';

export interface DefaultBindingWriterModules extends PrecomputeModules {
  readonly client: ObjectClient;
  /**
   * Creates a binding as a user, so that a type does not give users exports they may not bind; as the system if there is
   * no creator. Keeps the status of the binding.
   */
  readonly createBinding: (
    cluster: LogicalClusterName,
    binding: APIBinding,
    creator: UserInfo | undefined,
  ) => Promise<unknown>;
  /** Workspace types of all shards. */
  readonly types: WorkspaceTypeLookup;
  /** Exports of all shards. */
  readonly exports: ExportLookup;
  readonly clock: Clock;
}

/** The result of a pass over the default bindings of a logical cluster. */
interface Outcome {
  readonly errors: readonly string[];
  /** Bindings that are not complete, as conditions name them; sorted. */
  readonly waitingFor: readonly string[];
}

/** Concurrent requests per logical cluster. */
const maxConcurrentBindings = 8;
type Operation = 'initialization' | 'reconciliation';
const missingExport = (operation: Operation): string =>
  `unable to complete ${operation}: unable to find at least 1 APIExport`;

/**
 * Writes the default APIBindings of logical clusters: at initialization (kcp: pkg/reconciler/tenancy/initialization), and
 * later for types that maintain them (kcp: pkg/reconciler/tenancy/defaultapibindinglifecycle). Both write the same
 * bindings.
 */
export class DefaultBindingWriter {
  readonly #modules: DefaultBindingWriterModules;
  constructor(modules: DefaultBindingWriterModules) {
    this.#modules = modules;
  }

  /** Creates missing bindings. `done` if all are bound; else the condition says what is missing. */
  async initialize(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
  ): Promise<{ readonly done: boolean; readonly condition: NewKcpCondition }> {
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

  /** The default exports whose bindings are maintained. */
  maintainedExports(object: DeepReadonly<LogicalCluster>): DefaultExport[] {
    const closure = this.#closureOf(object);
    return typeof closure === 'string' ? [] : defaultExportsOf(closure).filter(({ maintained }) => maintained);
  }

  /** Whether an export is one of {@link maintainedExports}. */
  maintains(object: DeepReadonly<LogicalCluster>, exportCluster: LogicalClusterName, exportName: string): boolean {
    return this.maintainedExports(object).some(({ path, name }) => {
      if (name !== exportName) return false;
      const exported = this.#modules.exports.byPathAndName(path, name);
      return exported === undefined || exportClusterOf(exported) === exportCluster;
    });
  }

  /**
   * Creates and updates the maintained bindings for the current types and exports. Bindings of removed entries are kept.
   * Undefined if no binding is maintained.
   */
  async maintain(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
  ): Promise<NewKcpCondition | undefined> {
    const wanted = this.maintainedExports(object);
    if (wanted.length === 0) return undefined;
    const { errors, waitingFor } = await this.#bind(object, cluster, wanted, 'reconciliation');
    const problem: NewKcpCondition = {
      type: 'APIBindingsReconciled',
      status: 'False',
      severity: 'Info',
      reason: 'WaitingOnAPIBindings',
    };
    // kcp only logs these errors.
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

  /** The types of a logical cluster, bases first, or why they cannot be resolved. */
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
    operation: Operation,
  ): Promise<Outcome> {
    /** By the index of the export in `wanted`, so that the order of messages does not depend on timing. */
    const errors: string[] = [];
    const waitingFor: string[] = [];
    const existing = wanted.length === 0 ? [] : this.#bindings.list({ cluster });
    await mapConcurrently(wanted.entries(), maxConcurrentBindings, async ([index, reference]) => {
      try {
        const exported = this.#modules.exports.byPathAndName(reference.path, reference.name);
        if (exported === undefined) {
          const missing = missingExport(operation);
          if (!errors.includes(missing)) errors[index] = missing;
          return;
        }
        const problem = await this.#bindOne(object, cluster, reference, exported, existing, operation);
        if (problem !== undefined) waitingFor.push(problem);
      } catch (error) {
        if (isStatusError(error, 'Conflict') || !(error instanceof AmbiguousPathError || isStatusError(error)))
          throw error;
        errors[index] = errorText(error);
      }
    });
    return { errors: errors.filter((error) => error !== undefined), waitingFor: waitingFor.sort() };
  }

  /** Creates or updates one binding. Returns the text for {@link Outcome.waitingFor}; undefined if it is complete. */
  async #bindOne(
    object: DeepReadonly<LogicalCluster>,
    cluster: LogicalClusterName,
    reference: DefaultExport,
    exported: DeepReadonly<APIExport>,
    existing: readonly DeepReadonly<APIBinding>[],
    operation: Operation,
  ): Promise<string | undefined> {
    const name = defaultBindingName(cluster, reference);
    const binding = defaultBinding(name, reference, exported);
    const generated = existing.find(({ metadata }) => metadata.name === name);
    // A binding that a user created for the same export under another name counts, too.
    const current = generated ?? existing.find((one) => isOf(one, reference));
    if (generated !== undefined && operation === 'reconciliation' && !haveSameSpec(generated, binding)) {
      await this.#modules.client.update(apiBindings, cluster, withChanges(generated, { spec: binding.spec }));
      return name;
    }
    if (current !== undefined) {
      const problem = incompleteness(current);
      return problem === undefined ? undefined : `${current.metadata.name ?? ''}${problem}`;
    }
    const status = precomputeBoundStatus(binding, exported, object, this.#modules, new Date(this.#modules.clock.now()));
    const creator = operation === 'initialization' ? creatorOf(object) : undefined;
    try {
      await this.#modules.createBinding(cluster, status === undefined ? binding : { ...binding, status }, creator);
    } catch (error) {
      // Created by an earlier pass and not listed yet; its event requeues the logical cluster.
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

const haveSameSpec = (a: DeepReadonly<APIBinding>, b: APIBinding): boolean =>
  deepEqual(a.spec ?? {}, (b.spec ?? {}) as unknown as Json);

/** Suffix to the name of an incomplete binding in messages; undefined for a complete one. */
function incompleteness({ spec, status }: DeepReadonly<APIBinding>): string | undefined {
  if (!isConditionTrue(status?.conditions, 'InitialBindingCompleted')) return '';
  const claims = (spec?.permissionClaims ?? []).some(({ state }) => state === 'Accepted');
  if (!claims) return undefined;
  const applied = status?.conditions?.find(({ type }) => type === 'PermissionClaimsApplied');
  // Such a claim may never be applied; the workspace is usable without.
  const isSettled = applied?.status === 'True' || applied?.reason === claimedResourceNotFound;
  return isSettled ? undefined : ' waiting for permission claims to be applied';
}

/** The creator of the workspace, with the groups recorded at creation; undefined if it was the system. */
function creatorOf({ spec }: DeepReadonly<LogicalCluster>): UserInfo | undefined {
  const { username = '', uid = '', groups = [], extra = {} } = spec?.createdBy ?? {};
  return username === '' ? undefined : { name: username, uid, groups, extra };
}

/** Joins errors like Go's aggregate errors. */
const aggregate = (errors: readonly string[]): string =>
  errors.length === 1 ? (errors[0] as string) : `[${[...new Set(errors)].join(', ')}]`;
