import {
  ApplyConflicts,
  type DeepReadonly,
  FieldSet,
  type JsonObject,
  type KubeObject,
  ListElements,
  ListItemError,
  type Managed,
  type ManagedSet,
  type ManagerIdentity,
  type ManagerUpdate,
  type ObjectMeta,
  type TypedObject,
  TypedValueError,
  type VersionedViews,
  apiVersionOf,
  applyConfiguration,
  applyConflictStatus,
  asJson,
  capUpdateManagers,
  decodeManagedFields,
  deepCopy,
  deepEqual,
  emptyManaged,
  encodeInSteps,
  encodeManagedFields,
  isStatusError,
  isManagedFieldsReset,
  managerKey,
  statusErrors,
  updateOwnership,
  validateTyped,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { FieldWrite } from './field-write.ts';
import { checkConfiguration, typedFailure } from './check-configuration.ts';
import { managedView, withoutClusterAnnotation, withoutManagement } from './managed-view.ts';
import { giveWay, inSteps, isBig } from './give-way.ts';
import { conflictsBeyond, kubectlManager, refreshLastApplied, takenOverFromLastApplied } from './last-applied.ts';
import { NewOwners } from './new-owners.ts';
import { MetadataTimes } from './object-metadata.ts';
import { resetFilter, withoutUnmanaged } from './reset-fields.ts';
import { ScaleFields } from './scale-fields.ts';
import { updaterKey } from './updater-key.ts';
import { WriteVersions, type WriteVersionsModules } from './write-versions.ts';

export interface FieldManagerModules extends WriteVersionsModules {
  readonly clock: Clock;
}

/** What an apply made of an object. */
export interface AppliedObject {
  /** Without managedFields; belongs to the caller. */
  readonly object: KubeObject;
  readonly managedFields: JsonObject[];
}

const beforeFirstApply = 'before-first-apply';

/**
 * Who owns which field (K4.5 to K4.8): keeps `metadata.managedFields` in every write, and applies configurations.
 *
 * Every write goes through one of two doors. {@link update}, for writes that bring the whole object: what differs from
 * the live object becomes the writer's; it never fails, an object whose ownership cannot be computed is stored without
 * any. {@link apply}, for server-side apply: merges, prunes, refuses conflicts. Both work on a view of the object without
 * what is the server's own (managedFields, the annotation `kcp.io/cluster`), so that nobody ever owns that. Entries are
 * encoded anew only when ownership changed; decoded sets are remembered with the entries, which live as long as the
 * stored object they belong to.
 */
export class FieldManager {
  readonly #times: MetadataTimes;
  readonly #newOwners: NewOwners;
  readonly #versions: WriteVersions;

  constructor(_options: Record<string, never>, modules: FieldManagerModules) {
    this.#times = new MetadataTimes(modules.clock);
    this.#newOwners = new NewOwners({ times: this.#times });
    this.#versions = new WriteVersions(modules);
  }

  /**
   * Sets `managedFields` of an object that is about to replace `live` (undefined: it is new). In place. `bytes`: its size,
   * where it may be big.
   */
  update(
    write: FieldWrite,
    live: DeepReadonly<KubeObject> | undefined,
    object: KubeObject,
    bytes = 0,
  ): void | Promise<void> {
    const { metadata } = object;
    const known = live?.metadata.managedFields;
    const managed = liveOrSent(write.subresource !== '', known, metadata.managedFields);
    if (metadata.managedFields !== undefined) delete metadata.managedFields;
    if (managed.managers.size === 0) {
      // Untracked objects stay so until the first apply.
      if (live !== undefined) return undefined;
      if (!isBig(bytes)) return this.#newOwners.own(write, object);
    }
    return this.#ownUpdated(write, live, object, managed, bytes);
  }

  async #ownUpdated(
    write: FieldWrite,
    live: DeepReadonly<KubeObject> | undefined,
    object: KubeObject,
    managed: Managed,
    bytes: number,
  ): Promise<void> {
    const { metadata } = object;
    const known = live?.metadata.managedFields;
    try {
      const view = managedView(object);
      const after = await this.#versions.compute(write, (views) =>
        inSteps(
          this.#afterUpdate(write, managed, this.#liveView(write, live), view, { views, elements: elementsOf(bytes) }),
          bytes,
        ),
      );
      const entries =
        after === managed && known !== undefined && managed === decodeManagedFields(known)
          ? (known as JsonObject[])
          : await entriesOf(after, write.definition, bytes);
      if (entries.length > 0) metadata.managedFields = entries;
    } catch (error) {
      if (write.signal.aborted || !(error instanceof ListItemError || isStatusError(error))) throw error;
    }
  }

  /**
   * Applies a configuration to the live object, or to nothing. Throws 400 for one that is not of this kind, an untyped
   * 500 for one that does not fit the schema, 409 for conflicts.
   */
  async apply(
    write: FieldWrite,
    live: DeepReadonly<KubeObject> | undefined,
    config: DeepReadonly<JsonObject>,
    options: { readonly force: boolean; readonly bytes: number },
  ): Promise<AppliedObject> {
    const { definition } = write;
    checkConfiguration(definition, config);
    const apiVersion = apiVersionOf(definition);
    const { typed: schema } = definition.schema;
    const clean = withoutClusterAnnotation(config);
    const elements = elementsOf(options.bytes);
    await giveWay(options.bytes);
    try {
      validateTyped(clean as JsonObject, schema, elements);
    } catch (error) {
      if (!(error instanceof TypedValueError)) throw error;
      throw typedFailure('patch', config, definition, error.message);
    }
    let managed: Managed;
    await giveWay(options.bytes);
    try {
      managed = decodeManagedFields(live?.metadata.managedFields);
    } catch (error) {
      throw statusErrors.untyped(`failed to decode managed fields: ${(error as Error).message}`);
    }
    await giveWay(options.bytes);
    const liveValue =
      live === undefined ? definition.schema.emptyObject() : withoutManagement(asJson(live as KubeObject));
    const liveObject: TypedObject = { value: liveValue, schema };
    try {
      if (managed.managers.size === 0 && live !== undefined) {
        const everything = this.#liveView(write, undefined);
        managed = await inSteps(
          this.#afterUpdate(
            { ...write, fieldManager: beforeFirstApply },
            managed,
            everything,
            managedView(live as KubeObject),
            { views: this.#versions.views(write), elements },
          ),
          options.bytes,
        );
      }
      const identity: ManagerIdentity = {
        manager: write.fieldManager,
        operation: 'Apply',
        apiVersion,
        subresource: write.subresource,
      };
      const update = {
        live: liveObject,
        apiVersion,
        managers: managed.managers,
        manager: managerKey(identity),
        filter: resetFilter(definition, write.subresource),
        elements,
      };
      const { object: changed, managers } = await this.#versions.compute(write, (views) =>
        this.#run({ ...update, views }, clean, write, options),
      );
      const own = managers.get(update.manager);
      const result = new Map(managers);
      setManager(result, update.manager, own === undefined ? undefined : { ...own, set: withoutUnmanaged(own.set) });
      const times = new Map(managed.times);
      if (changed !== undefined) times.set(update.manager, this.#times.now());
      await giveWay(options.bytes);
      const object = deepCopy<JsonObject>(changed ?? liveValue) as unknown as KubeObject;
      if (write.fieldManager === kubectlManager) refreshLastApplied(object, config);
      return { object, managedFields: await entriesOf({ managers: result, times }, definition, options.bytes) };
    } catch (error) {
      if (error instanceof ApplyConflicts) throw applyConflictStatus(error);
      if (error instanceof ListItemError) throw typedFailure('live', liveValue, definition, error.message);
      throw error;
    }
  }

  async #run(
    update: ManagerUpdate,
    config: DeepReadonly<JsonObject>,
    write: FieldWrite,
    { force, bytes }: { readonly force: boolean; readonly bytes: number },
  ): Promise<{ readonly object: JsonObject | undefined; readonly managers: ReadonlyMap<string, ManagedSet> }> {
    try {
      return await inSteps(applyConfiguration(update, config, force), bytes);
    } catch (error) {
      if (!(error instanceof ApplyConflicts) || write.fieldManager !== kubectlManager) throw error;
      const rest = conflictsBeyond(error, takenOverFromLastApplied(update.live, update.apiVersion));
      if (rest.size > 0) throw new ApplyConflicts(rest);
      return inSteps(applyConfiguration(update, config, true), bytes);
    }
  }

  *#afterUpdate(
    write: FieldWrite,
    managed: Managed,
    live: TypedObject,
    object: DeepReadonly<JsonObject>,
    means: { readonly views: VersionedViews; readonly elements: ListElements | undefined },
  ): Generator<void, Managed> {
    const { definition, subresource, fieldManager } = write;
    const apiVersion = apiVersionOf(definition);
    const key = updaterKey(fieldManager, apiVersion, subresource);
    const { managers, taken } = yield* updateOwnership(
      {
        live,
        apiVersion,
        managers: managed.managers,
        manager: key,
        filter: resetFilter(definition, subresource),
        ...means,
      },
      { value: object, schema: definition.schema.typed },
    );
    const own = withoutUnmanaged(taken);
    if (own.isEmpty) return managers === managed.managers ? managed : { managers, times: managed.times };
    const before = managers.get(key)?.set ?? FieldSet.empty;
    // An entry whose set stays the same keeps its encoding, too.
    return capUpdateManagers({
      managers: new Map(managers).set(key, { set: before.union(own), apiVersion, applied: false }),
      times: new Map(managed.times).set(key, this.#times.now()),
    });
  }

  #liveView({ definition }: FieldWrite, live: DeepReadonly<KubeObject> | undefined): TypedObject {
    const { schema } = definition;
    return { value: live === undefined ? schema.emptyObject() : managedView(live as KubeObject), schema: schema.typed };
  }

  /** Ownership of the replicas through the scale of an object. */
  scale(write: FieldWrite, live: DeepReadonly<KubeObject>): ScaleFields {
    const pathOf = (apiVersion: string): string | undefined => {
      const { definition } = write;
      const kind = apiVersion === apiVersionOf(definition) ? definition : this.#versions.definition(write, apiVersion);
      const part = kind?.subresources['scale'];
      return part?.type === 'scale' ? part.specReplicasPath : undefined;
    };
    return new ScaleFields({ write, pathOf, live });
  }
}

/** The entries to start from: what the client sent where that counts, else those of the live object (K4.8). */
function liveOrSent(
  isSubresource: boolean,
  live: DeepReadonly<ObjectMeta>['managedFields'],
  sent: DeepReadonly<ObjectMeta>['managedFields'],
): Managed {
  if (!isSubresource && sent !== undefined && sent !== live) {
    if (isManagedFieldsReset(sent)) return emptyManaged;
    if (!deepEqual(sent, live ?? null)) {
      const managed = decodedOrEmpty(sent);
      if (managed.managers.size > 0) return managed;
    }
  }
  return decodedOrEmpty(live);
}

function decodedOrEmpty(entries: DeepReadonly<ObjectMeta>['managedFields']): Managed {
  try {
    return decodeManagedFields(entries);
  } catch {
    // Nobody can be asked to repair what a client has stored: such entries are none.
    return emptyManaged;
  }
}

function setManager(managers: Map<string, ManagedSet>, key: string, entry: ManagedSet | undefined): void {
  if (entry === undefined || entry.set.isEmpty) managers.delete(key);
  else managers.set(key, entry);
}

/** The entries that say who owns what; of something big in steps. */
function entriesOf(
  managed: Managed,
  { origin }: Pick<ResourceDefinition, 'origin'>,
  bytes: number,
): JsonObject[] | Promise<JsonObject[]> {
  const byText = origin === 'custom';
  if (!isBig(bytes)) return encodeManagedFields(managed, byText);
  const sets = Array.from(managed.managers.values(), ({ set }) => set);
  return Promise.resolve(inSteps(encodeInSteps(sets, byText), bytes)).then(() => encodeManagedFields(managed, byText));
}

const elementsOf = (bytes: number): ListElements | undefined => (isBig(bytes) ? new ListElements() : undefined);
