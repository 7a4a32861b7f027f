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
  TooManyFieldsError,
  TypedValueError,
  type VersionedViews,
  apiVersionOf,
  applyConfiguration,
  applyConflictStatus,
  asJson,
  capUpdateManagers,
  decodeManagedFields,
  decodeManagedFieldsIncrementally,
  deepCopy,
  deepEqual,
  emptyManaged,
  encodeIncrementally,
  encodeManagedFieldsIncrementally,
  isStatusError,
  isManagedFieldsReset,
  managerKey,
  statusErrors,
  typedProblem,
  updateOwnership,
  validateTyped,
} from '@multiplane/apimachinery';
import type { Clock, RequestWork } from '@multiplane/component-base';
import { ValueTooLargeError } from '@multiplane/storage';
import type { FieldManagerRequest } from './field-manager-request.ts';
import { checkConfiguration, existingFieldsFailure, typedFailure } from './check-configuration.ts';
import { managedView, withoutClusterAnnotation, withoutManagement } from './managed-view.ts';
import { conflictsBeyond, kubectlManager, refreshLastApplied, takenOverFromLastApplied } from './last-applied.ts';
import { InitialManagedFields } from './initial-managed-fields.ts';
import { MetadataTimes } from '../codec/metadata-time.ts';
import { resetFilter, withoutUnmanaged } from './reset-fields.ts';
import { ScaleManagedFields } from './scale-managed-fields.ts';
import { updaterKey } from './updater-key.ts';
import { VersionConverter, type VersionConverterModules } from './version-converter.ts';

export interface FieldManagerModules extends VersionConverterModules {
  readonly clock: Clock;
}

/** The result of an apply. */
export interface AppliedObject {
  /** Without managedFields; belongs to the caller. */
  readonly object: KubeObject;
  readonly managedFields: JsonObject[];
}

const beforeFirstApply = 'before-first-apply';

/**
 * Tracks field ownership (KEP-555): maintains `metadata.managedFields` on every write, and performs server-side apply.
 *
 *  - {@link update}, for writes of whole objects: the writer becomes the owner of all fields that differ from the live
 *    object. It never rejects a write; an object whose ownership cannot be computed is stored without managedFields.
 *  - {@link apply}: merges a configuration, prunes fields that the manager no longer applies, rejects conflicts.
 *
 * Both work on a view of the object without server-owned metadata (managedFields, the annotation `kcp.io/cluster`), so no
 * manager owns it. Entries are encoded only if ownership changed. Decoded sets are cached with the entries, for as long as
 * the stored object that contains them is in memory.
 */
export class FieldManager {
  readonly #times: MetadataTimes;
  readonly #initial: InitialManagedFields;
  readonly #versions: VersionConverter;

  constructor(modules: FieldManagerModules) {
    this.#times = new MetadataTimes(modules.clock);
    this.#initial = new InitialManagedFields({ times: this.#times });
    this.#versions = new VersionConverter(modules);
  }

  /** Sets `managedFields` of an object that is going to replace `live` (undefined: it is new). In place. */
  async update(
    write: FieldManagerRequest,
    live: DeepReadonly<KubeObject> | undefined,
    object: KubeObject,
  ): Promise<void> {
    const { metadata } = object;
    const managed = await this.#liveOrSent(write, live?.metadata.managedFields, metadata.managedFields);
    if (metadata.managedFields !== undefined) delete metadata.managedFields;
    if (managed.managers.size > 0) return this.#ownUpdated(write, live, object, managed);
    // An object without managedFields stays without until its first apply.
    if (live !== undefined) return;
    if (write.work.isLarge) await this.#ownUpdated(write, live, object, managed);
    else this.#initial.set(write, object);
  }

  /** The entries to start from: those that the client sent, if it may and did change them, else those of the live object. */
  async #liveOrSent(
    { subresource, work }: FieldManagerRequest,
    live: DeepReadonly<ObjectMeta>['managedFields'],
    sent: DeepReadonly<ObjectMeta>['managedFields'],
  ): Promise<Managed> {
    if (subresource === '' && sent !== undefined && sent !== live) {
      if (isManagedFieldsReset(sent)) return emptyManaged;
      await work.pause();
      if (!deepEqual(sent, live)) {
        const managed = await decodedOrEmpty(sent, work);
        if (managed.managers.size > 0) return managed;
      }
    }
    return decodedOrEmpty(live, work);
  }

  async #ownUpdated(
    write: FieldManagerRequest,
    live: DeepReadonly<KubeObject> | undefined,
    object: KubeObject,
    managed: Managed,
  ): Promise<void> {
    const { metadata } = object;
    const known = live?.metadata.managedFields;
    try {
      const view = managedView(object);
      const after = await this.#versions.compute(write, (views) =>
        write.work.run(
          this.#afterUpdate(write, managed, this.#liveView(write, live), view, { views, elements: elementsOf(write) }),
        ),
      );
      const entries =
        after === managed && known !== undefined && managed === decodeManagedFields(known)
          ? (known as JsonObject[])
          : await entriesOf(after, write);
      if (entries.length > 0) metadata.managedFields = entries;
    } catch (error) {
      const hasNoOwnership =
        error instanceof ListItemError || error instanceof TooManyFieldsError || isStatusError(error);
      if (write.signal.aborted || !hasNoOwnership) throw error;
    }
  }

  /**
   * Applies a configuration to the live object (undefined: it does not exist). Throws 400 for a configuration of another
   * kind, an untyped 500 for one that does not match the schema, 409 for conflicts.
   */
  async apply(
    write: FieldManagerRequest & { readonly name?: string },
    live: DeepReadonly<KubeObject> | undefined,
    config: DeepReadonly<JsonObject>,
    options: { readonly force: boolean },
  ): Promise<AppliedObject> {
    const { definition, work } = write;
    checkConfiguration(definition, config);
    const apiVersion = apiVersionOf(definition);
    const { typed: schema } = definition.schema;
    const clean = withoutClusterAnnotation(config);
    const elements = elementsOf(write);
    let managed: Managed;
    try {
      managed = await work.run(decodeManagedFieldsIncrementally(live?.metadata.managedFields));
    } catch (error) {
      if (write.signal.aborted) throw error;
      throw statusErrors.untyped(`failed to decode managed fields: ${(error as Error).message}`);
    }
    if (managed.managers.size === 0 && live !== undefined) managed = await this.#beforeFirstApply(write, live, managed);
    try {
      await work.pause();
      validateTyped(clean as JsonObject, schema, elements);
    } catch (error) {
      if (!(error instanceof TypedValueError)) throw error;
      throw typedFailure('patch', config, definition, error.message);
    }
    const liveValue =
      live === undefined ? definition.schema.emptyObject() : withoutManagement(asJson(live as KubeObject));
    const liveObject: TypedObject = { value: liveValue, schema };
    try {
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
        this.#run({ ...update, views }, clean, write, options.force),
      );
      const own = managers.get(update.manager);
      const result = new Map(managers);
      setManager(result, update.manager, own === undefined ? undefined : { ...own, set: withoutUnmanaged(own.set) });
      const times = new Map(managed.times);
      if (changed !== undefined) times.set(update.manager, this.#times.now());
      await work.pause();
      const copy = deepCopy<JsonObject>(changed ?? liveValue);
      const object = copy as unknown as KubeObject;
      if (write.fieldManager === kubectlManager) refreshLastApplied(object, config);
      return { object, managedFields: await entriesOf({ managers: result, times }, write) };
    } catch (error) {
      if (error instanceof ApplyConflicts) throw applyConflictStatus(error);
      if (error instanceof TooManyFieldsError) throw new ValueTooLargeError(write.name ?? '');
      if (error instanceof ListItemError)
        throw typedFailure('live', liveValue, definition, typedProblem(liveValue, schema) ?? error.message);
      throw error;
    }
  }

  /** The managers of an object that has none yet: one that owns all of it. */
  async #beforeFirstApply(
    write: FieldManagerRequest,
    live: DeepReadonly<KubeObject>,
    managed: Managed,
  ): Promise<Managed> {
    const view = managedView(live as KubeObject);
    try {
      return await write.work.run(
        this.#afterUpdate(
          { ...write, fieldManager: beforeFirstApply },
          managed,
          this.#liveView(write, undefined),
          view,
          { views: this.#versions.views(write), elements: elementsOf(write) },
        ),
      );
    } catch (error) {
      if (!(error instanceof ListItemError)) throw error;
      const { definition } = write;
      const why = typedProblem(view, definition.schema.typed) ?? error.message;
      throw existingFieldsFailure(asJson(live as KubeObject), definition, why);
    }
  }

  async #run(
    update: ManagerUpdate,
    config: DeepReadonly<JsonObject>,
    write: FieldManagerRequest,
    force: boolean,
  ): Promise<{ readonly object: JsonObject | undefined; readonly managers: ReadonlyMap<string, ManagedSet> }> {
    try {
      return await write.work.run(applyConfiguration(update, config, force));
    } catch (error) {
      if (!(error instanceof ApplyConflicts) || write.fieldManager !== kubectlManager) throw error;
      const rest = conflictsBeyond(error, takenOverFromLastApplied(update.live, update.apiVersion));
      if (rest.size > 0) throw new ApplyConflicts(rest);
      return write.work.run(applyConfiguration(update, config, true));
    }
  }

  *#afterUpdate(
    write: FieldManagerRequest,
    managed: Managed,
    live: TypedObject,
    object: DeepReadonly<JsonObject>,
    walk: { readonly views: VersionedViews; readonly elements: ListElements | undefined },
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
        ...walk,
      },
      { value: object, schema: definition.schema.typed },
    );
    const own = withoutUnmanaged(taken);
    if (own.isEmpty) return managers === managed.managers ? managed : { managers, times: managed.times };
    const before = managers.get(key)?.set ?? FieldSet.empty;
    // Entries with an unchanged set keep their cached encoding.
    return capUpdateManagers({
      managers: new Map(managers).set(key, { set: before.union(own), apiVersion, applied: false }),
      times: new Map(managed.times).set(key, this.#times.now()),
    });
  }

  #liveView({ definition }: FieldManagerRequest, live: DeepReadonly<KubeObject> | undefined): TypedObject {
    const { schema } = definition;
    return { value: live === undefined ? schema.emptyObject() : managedView(live as KubeObject), schema: schema.typed };
  }

  /** Maps ownership of the replicas between the object and its Scale. */
  scale(write: FieldManagerRequest, live: DeepReadonly<KubeObject>): ScaleManagedFields {
    const pathOf = (apiVersion: string): string | undefined => {
      const { definition } = write;
      const kind = apiVersion === apiVersionOf(definition) ? definition : this.#versions.definition(write, apiVersion);
      const part = kind?.subresources['scale'];
      return part?.type === 'scale' ? part.specReplicasPath : undefined;
    };
    return new ScaleManagedFields({ write, pathOf, live });
  }
}

async function decodedOrEmpty(entries: DeepReadonly<ObjectMeta>['managedFields'], work: RequestWork): Promise<Managed> {
  try {
    return await work.run(decodeManagedFieldsIncrementally(entries));
  } catch (error) {
    if (work.isLarge && work.signal?.aborted === true) throw error;
    // Invalid entries that a client stored must not make the object immutable.
    return emptyManaged;
  }
}

function setManager(managers: Map<string, ManagedSet>, key: string, entry: ManagedSet | undefined): void {
  if (entry === undefined || entry.set.isEmpty) managers.delete(key);
  else managers.set(key, entry);
}

async function entriesOf(managed: Managed, { definition, work }: FieldManagerRequest): Promise<JsonObject[]> {
  const byText = definition.origin === 'custom';
  await work.run(
    encodeIncrementally(
      Array.from(managed.managers.values(), ({ set }) => set),
      byText,
    ),
  );
  return work.run(encodeManagedFieldsIncrementally(managed, byText));
}

const elementsOf = ({ work }: FieldManagerRequest): ListElements | undefined =>
  work.isLarge ? new ListElements() : undefined;
