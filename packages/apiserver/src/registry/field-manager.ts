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
  deepFreeze,
  emptyManaged,
  encodeInSteps,
  encodeManagedFields,
  fieldsOfNew,
  isStatusError,
  isManagedFieldsReset,
  managerKey,
  parseApiVersion,
  statusErrors,
  updateOwnership,
  validateTyped,
} from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { FieldKind, FieldWrite } from './field-write.ts';
import { checkConfiguration, typedFailure } from './check-configuration.ts';
import { ConvertedViews } from './converted-views.ts';
import { managedView, withoutClusterAnnotation, withoutManagement } from './managed-view.ts';
import { giveWay, inSteps, isBig } from './give-way.ts';
import { conflictsBeyond, kubectlManager, refreshLastApplied, takenOverFromLastApplied } from './last-applied.ts';
import { MetadataTimes } from './object-metadata.ts';
import type { ObjectConversions } from './object-conversions.ts';
import { fromStorage, toStorage } from './object-reader.ts';
import { resetFilter, withoutUnmanaged } from './reset-fields.ts';
import type { ResourceResolver } from './resource-resolver.ts';
import { ScaleFields } from './scale-fields.ts';

export interface FieldManagerModules {
  readonly clock: Clock;
  /** Finds the other versions of a kind; absent: there are none. */
  readonly resolver?: Pick<ResourceResolver, 'resolve'> | undefined;
  /** Conversions by webhooks; absent: there are none. */
  readonly conversions?: (() => ObjectConversions) | undefined;
}

/** What an apply made of an object. */
export interface AppliedObject {
  /** Without managedFields; belongs to the caller. */
  readonly object: KubeObject;
  readonly managedFields: JsonObject[];
}

/** The writer of a new object, and the entries that say so: shared by all objects of which they are true, so frozen. */
interface NewOwner {
  readonly fieldManager: string;
  readonly subresource: string;
  readonly set: FieldSet;
  readonly time: string;
  readonly entries: readonly JsonObject[];
}

const beforeFirstApply = 'before-first-apply';
const unnamedManager = 'unknown';

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
  readonly #modules: FieldManagerModules;
  readonly #times: MetadataTimes;
  /** What new objects are compared with, and what the writer of the last one came to own. */
  readonly #kinds = new WeakMap<FieldKind, { readonly empty: DeepReadonly<JsonObject>; last: NewOwner | undefined }>();

  constructor(_options: Record<string, never>, modules: FieldManagerModules) {
    this.#modules = modules;
    this.#times = new MetadataTimes(modules.clock);
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
      if (!isBig(bytes)) return this.#ownNew(write, object);
    }
    return this.#ownUpdated(write, live, object, managed, bytes);
  }

  /**
   * A new object that brings no owners: all of it is its writer's. The same as below, without what nobody has to ask. Most
   * objects of a kind have the fields that the one before had, and the same writer in the same second: they share entries.
   */
  #ownNew(write: FieldWrite, object: KubeObject): void {
    const { definition, subresource, fieldManager } = write;
    const { schema } = definition;
    let kind = this.#kinds.get(definition);
    if (kind === undefined) this.#kinds.set(definition, (kind = { empty: schema.emptyObject(), last: undefined }));
    let set: FieldSet;
    try {
      const fields = fieldsOfNew(kind.empty, managedView(object), schema.typed);
      set = withoutUnmanaged(resetFilter(definition, subresource)(fields));
    } catch (error) {
      if (error instanceof ListItemError) return;
      throw error;
    }
    if (set.isEmpty) return;
    const { last } = kind;
    const time = this.#times.now();
    const isAlike = last?.set.equals(set) === true;
    if (!isAlike || last.time !== time || last.fieldManager !== fieldManager || last.subresource !== subresource) {
      // A set that serves on brings its encoding along.
      const owner = { fieldManager, subresource, set: isAlike ? last.set : set, time };
      kind.last = { ...owner, entries: entriesOfNew(owner, definition) };
    }
    object.metadata.managedFields = kind.last?.entries as JsonObject[];
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
      const after = await this.#inVersions(write, (views) =>
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
            { views: this.#views(write), elements },
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
      const { object: changed, managers } = await this.#inVersions(write, (views) =>
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
      const kind = apiVersion === apiVersionOf(definition) ? definition : this.#version(write, apiVersion);
      const part = kind?.subresources['scale'];
      return part?.type === 'scale' ? part.specReplicasPath : undefined;
    };
    return new ScaleFields({ write, pathOf, live });
  }

  /** The definition of a version of the kind that is written. */
  #version({ definition, cluster }: FieldWrite, apiVersion: string): ResourceDefinition | undefined {
    const parsed = parseApiVersion(apiVersion);
    if (parsed === undefined) return undefined;
    return this.#modules.resolver?.resolve(cluster, parsed.group, parsed.version, definition.resource);
  }

  /** Computes with objects in other versions; waits where a webhook has to make them. */
  #inVersions<T>(write: FieldWrite, compute: (views: VersionedViews) => T | Promise<T>): T | Promise<T> {
    const { conversion } = write.definition;
    const { conversions } = this.#modules;
    if (conversion === undefined || conversions === undefined) return compute(this.#views(write));
    const views = new ConvertedViews({
      conversion,
      conversions: conversions(),
      versionOf: (apiVersion) => this.#version(write, apiVersion),
      signal: write.signal,
    });
    return views.run(() => compute(views));
  }

  #views(write: FieldWrite): VersionedViews {
    const versionOf = (apiVersion: string): ResourceDefinition | undefined => this.#version(write, apiVersion);
    return {
      schema: (apiVersion) =>
        (apiVersion === apiVersionOf(write.definition) ? write.definition : versionOf(apiVersion))?.schema.typed,
      convert: ({ value }, from, to) => {
        const source = versionOf(from);
        const target = versionOf(to);
        if (source === undefined || target === undefined) return undefined;
        const copy = deepCopy<JsonObject>(value) as unknown as KubeObject;
        return { value: asJson(fromStorage(target, toStorage(source, copy))), schema: target.schema.typed };
      },
    };
  }
}

/** The key of whoever writes whole objects. */
function updaterKey(fieldManager: string, apiVersion: string, subresource: string): string {
  const manager = fieldManager === '' ? unnamedManager : fieldManager;
  return managerKey({ manager, operation: 'Update', apiVersion, subresource });
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

function entriesOfNew(
  { fieldManager, subresource, set, time }: Omit<NewOwner, 'entries'>,
  definition: FieldKind,
): readonly JsonObject[] {
  const apiVersion = apiVersionOf(definition);
  const key = updaterKey(fieldManager, apiVersion, subresource);
  const managers = new Map([[key, { set, apiVersion, applied: false }]]);
  const entries = encodeManagedFields({ managers, times: new Map([[key, time]]) }, definition.origin === 'custom');
  return deepFreeze(entries) as readonly JsonObject[];
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
