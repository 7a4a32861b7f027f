import {
  clusterAnnotation,
  errorText,
  isConditionTrue,
  isStatusError,
  type DeepReadonly,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiResourceSchemas,
  boundDefinitionsCluster,
  lockName,
  type APIBinding,
  type APIExport,
  type APIResourceSchema,
  type BoundResource,
  type ExportedResource,
  type ResourceLock,
} from '@multiplane/apis';
import type { InformerSource, Lister, MetadataInformer, ObjectReference, PathAndNameLookup } from '@multiplane/client';
import { crds, type CrdNames, type CustomResourceDefinition } from '../apiextensions/crd-names.ts';
import type { ControllerModules } from '../runtime/controller.ts';
import { keyOf } from '../runtime/object-key.ts';
import { boundResourceOf, type BindingStatus } from './binding-status.ts';
import { BoundDefinitionMaker, type BoundDefinitionModules } from './bound-definition-maker.ts';
import { ExportFinder, exportOfBinding, isAnotherOne, pathOf } from './export-finder.ts';
import { KeyWaits } from './key-waits.ts';
import { namingConflict, noTakenNames, TakenNames, type NamedDefinition } from './naming-conflict.ts';
import { ObjectWaits } from './object-waits.ts';
import { locksText, ResourceLockKeeper } from './resource-lock-keeper.ts';

const boundCluster = boundDefinitionsCluster as LogicalClusterName;

export interface BinderModules extends ControllerModules, BoundDefinitionModules {
  /** Exports, schemas and conversions of all shards. */
  readonly globalInformers: InformerSource;
  /** Exports of all shards. */
  readonly exports: PathAndNameLookup<APIExport>;
}

/** A resource of an export with its schema. */
interface Offer {
  readonly exported: DeepReadonly<ExportedResource>;
  readonly schema: DeepReadonly<APIResourceSchema>;
  readonly lock: string;
}

/** `conflict` where the reference leaves Ready as it is; `waits` where the definitions are on their way. */
type Outcome = 'told' | 'conflict' | 'waits';

/** Takes a binding as far as it gets, and writes down in its status how far that is (C5.11). */
export class Binder {
  readonly #bindings: Lister<APIBinding>;
  readonly #definitions: Lister<CustomResourceDefinition>;
  readonly #schemas: Lister<APIResourceSchema>;
  readonly #metadata: MetadataInformer;
  readonly #locks: ResourceLockKeeper;
  readonly #maker: BoundDefinitionMaker;
  readonly #finder: ExportFinder;
  /** Bindings that hold a resource only because it has objects. */
  readonly #leftovers: ObjectWaits;
  /** Bindings by the uids of the schemas whose definitions are on their way. */
  readonly #awaited = new KeyWaits();
  /** What an export offers, for all who bind it, as long as no schema comes or goes. */
  #offers = new WeakMap<DeepReadonly<APIExport>, readonly Offer[]>();

  /** `again` brings back a binding that something was missing for. */
  constructor(modules: BinderModules & { readonly again: (key: string) => void }) {
    const { informers, globalInformers } = modules;
    this.#bindings = informers.informer<APIBinding>(apiBindings);
    this.#definitions = informers.informer<CustomResourceDefinition>(crds);
    const schemas = globalInformers.informer<APIResourceSchema>(apiResourceSchemas);
    const changed = (): void => void (this.#offers = new WeakMap());
    schemas.addHandlers({ added: changed, updated: changed, deleted: changed });
    this.#schemas = schemas;
    this.#metadata = informers.metadata;
    this.#locks = new ResourceLockKeeper(modules);
    this.#maker = new BoundDefinitionMaker(modules);
    this.#finder = new ExportFinder(modules);
    this.#leftovers = new ObjectWaits({ metadata: informers.metadata, again: modules.again });
  }

  /** A binding is gone. */
  forget(key: string): void {
    this.#leftovers.forget(key);
    this.#awaited.forget(key);
  }

  /** Bindings that wait for a definition in `system:bound-crds`. */
  waitingFor(definition: string): Iterable<string> {
    return this.#awaited.of(definition);
  }

  /** It did not find its export, but not all exports were known. */
  askedEarly(key: string): boolean {
    return this.#finder.askedEarly(key);
  }

  /**
   * Whether a binding that was made with its status has nothing left to find out: what it says it binds is what its export
   * offers now, and served. Whoever made it so saw to its names (docs/adr/0062).
   */
  isWhole(binding: DeepReadonly<APIBinding>, { cluster }: ObjectReference): boolean {
    const { spec, status } = binding;
    if (status?.phase !== 'Bound' || (spec?.permissionClaims ?? []).length > 0) return false;
    const bound = status.boundResources ?? [];
    const object = this.#finder.known(exportOfBinding(binding), cluster);
    const offers = object === undefined ? undefined : this.#offers.get(object);
    return (
      offers?.length === bound.length &&
      offers.every(({ schema }, index) => {
        const { UID, identityHash } = bound[index]?.schema ?? {};
        const { conditions } = this.#definition(uidOf(schema))?.status ?? {};
        return (
          UID === uidOf(schema) &&
          identityHash === object?.status?.identityHash &&
          isConditionTrue(conditions, 'Established') &&
          !isConditionTrue(conditions, 'Terminating')
        );
      })
    );
  }

  async bind(binding: DeepReadonly<APIBinding>, reference: ObjectReference, status: BindingStatus): Promise<Outcome> {
    this.#awaited.forget(keyOf(reference));
    const object = this.#exportOf(binding, reference, status);
    if (object === undefined) return 'told';
    status.exportFound(object);
    if ((object.status?.identityHash ?? '') === '') {
      const message = `APIExport ${wordsOf(binding, reference)} is missing status.identityHash`;
      status.exportInvalid({ reason: 'MissingIdentityHash', severity: 'Warning', message });
      return 'told';
    }
    status.value.apiExportClusterName = clusterOf(object);
    const offers = this.#offersOf(object, status);
    if (offers === undefined) return 'told';
    const left = this.#leftoversOf(offers, reference, status);
    const wanted = new Set([...offers.map(({ lock }) => lock), ...left]);
    const skipped = await this.#lock(reference, wanted, status);
    status.keep((resource) => wanted.has(lockName(resource)));
    return this.#take(object, offers, skipped, { binding, reference, status });
  }

  /** What is offered, as far as its names are this binding's. */
  async #take(
    object: DeepReadonly<APIExport>,
    offers: readonly Offer[],
    skipped: ReadonlyMap<string, ResourceLock>,
    {
      binding,
      reference,
      status,
    }: {
      readonly binding: DeepReadonly<APIBinding>;
      readonly reference: ObjectReference;
      readonly status: BindingStatus;
    },
  ): Promise<Outcome> {
    let taken: TakenNames | undefined;
    const needed: Offer[] = [];
    const missing: DeepReadonly<APIResourceSchema>[] = [];
    for (const offer of offers) {
      const { schema, lock } = offer;
      const other = skipped.get(lock);
      // Of a definition of the logical cluster itself its name says more than the lock.
      if (other !== undefined && other.c !== true) continue;
      // What is bound has its names, also after its schema changed: all others give way.
      const isNew = other !== undefined || !this.#hasNames(binding, schema);
      if (isNew) taken ??= this.#takenIn(reference, offers);
      const conflict = isNew ? namingConflict(schema, taken ?? noTakenNames) : undefined;
      if (conflict !== undefined) {
        status.incomplete({ reason: 'NamingConflicts', message: `Unable to bind APIs: ${conflict}` });
        return 'conflict';
      }
      if (other !== undefined) continue;
      if ((schema.spec?.versions.length ?? 0) > 1 && schema.spec?.conversion === undefined) {
        const message = 'Invalid APIExport. Please contact the APIExport owner to resolve';
        status.exportInvalid({ reason: 'InternalError', message });
        return 'told';
      }
      needed.push(offer);
      if (this.#definition(uidOf(schema)) === undefined) missing.push(schema);
    }
    const isMade = await this.#makeDefinitions(missing, status);
    const waitFor: Offer[] = [];
    for (const offer of needed) {
      const { exported, schema } = offer;
      const { conditions, storedVersions = [] } = this.#definition(uidOf(schema))?.status ?? {};
      if (!isConditionTrue(conditions, 'Established') || isConditionTrue(conditions, 'Terminating'))
        waitFor.push(offer);
      else status.put(boundResourceOf(object, exported, schema, storedVersions, binding.status));
    }
    if (!isMade) return 'told';
    status.exportValid(object);
    if (waitFor.length > 0) {
      // In the same moment as the look above: what comes later is an event that finds the key.
      this.#awaited.set(
        keyOf(reference),
        waitFor.map(({ schema }) => uidOf(schema)),
      );
      status.waitFor(waitFor.map(({ exported }) => exported.schema));
      return 'waits';
    }
    if (skipped.size > 0) {
      const message = `Unable to bind APIs because they are bound by other APIBindings or CRDs: ${locksText(skipped)}`;
      status.incomplete({ reason: 'NamingConflicts', message });
    } else {
      status.bound(binding.spec?.permissionClaims);
    }
    return 'told';
  }

  /** Undefined: not there, and the status tells why. */
  #exportOf(
    binding: DeepReadonly<APIBinding>,
    reference: ObjectReference,
    status: BindingStatus,
  ): DeepReadonly<APIExport> | undefined {
    if ((exportOfBinding(binding).name ?? '') === '') {
      status.exportInvalid({ reason: 'APIExportInvalidReference', message: 'Missing APIExport reference' });
      return undefined;
    }
    const words = wordsOf(binding, reference);
    try {
      const found = this.#finder.find(exportOfBinding(binding), reference);
      const isOther = typeof found !== 'string' && isAnotherOne(found, binding);
      if (typeof found !== 'string' && !isOther) return found;
      if (found !== 'unknown') {
        const why = isOther ? ': the one that has its path now is another one' : '';
        status.exportInvalid({ reason: 'APIExportNotFound', message: `APIExport ${words} not found${why}` });
      }
    } catch (error) {
      const message = `Error getting APIExport ${words}: ${errorText(error)}`;
      status.exportInvalid({ reason: 'InternalError', message });
    }
    return undefined;
  }

  /** Undefined: a schema is missing, and the status tells which. */
  #offersOf(object: DeepReadonly<APIExport>, status: BindingStatus): readonly Offer[] | undefined {
    const known = this.#offers.get(object);
    if (known !== undefined) return known;
    const cluster = clusterOf(object) as LogicalClusterName;
    const offers: Offer[] = [];
    for (const exported of object.spec?.resources ?? []) {
      const schema = this.#schemas.get({ cluster, namespace: '', name: exported.schema });
      if (schema?.spec === undefined) {
        status.exportInvalid({
          reason: 'InternalError',
          message: `Invalid APIExport. Please contact the APIExport owner to resolve: APIResourceSchema ${JSON.stringify(exported.schema)} not found`,
        });
        return undefined;
      }
      const { group = '', names } = schema.spec;
      offers.push({ exported, schema, lock: lockName({ group, resource: names.plural }) });
    }
    this.#offers.set(object, offers);
    return offers;
  }

  /** Resources that the export no longer has and that still have objects; the last object that goes brings the binding back. */
  #leftoversOf(offers: readonly Offer[], reference: ObjectReference, status: BindingStatus): ReadonlySet<string> {
    const { cluster } = reference;
    const offered = new Set(offers.map(({ lock }) => lock));
    const dropped = (status.value.boundResources ?? []).filter((bound) => !offered.has(lockName(bound)));
    this.#leftovers.set(keyOf(reference), cluster, dropped.map(lockName));
    return new Set(dropped.filter((bound) => this.#hasObjects(cluster, bound)).map(lockName));
  }

  #hasObjects(cluster: LogicalClusterName, { group, resource, storageVersions }: BoundResource): boolean {
    const wanted = { group, version: storageVersions?.at(-1) ?? '', resource };
    for (const _record of this.#metadata.list({ cluster, resource: wanted })) return true;
    return false;
  }

  async #lock(
    { cluster, name }: ObjectReference,
    wanted: ReadonlySet<string>,
    status: BindingStatus,
  ): Promise<ReadonlyMap<string, ResourceLock>> {
    try {
      return await this.#locks.hold(cluster, name, wanted);
    } catch (error) {
      if (isStatusError(error, 'NotFound'))
        status.incomplete({ reason: 'LogicalClusterNotFound', message: `Unable to bind APIs: ${error.message}` });
      // The locks of a logical cluster have the room of its annotations.
      else if (isStatusError(error, 'Invalid'))
        status.incomplete({ reason: 'InternalError', message: `Unable to bind APIs: ${error.message}` });
      throw error;
    }
  }

  /** Definitions that have names in a logical cluster without this binding, in the groups of what is offered. */
  #takenIn({ cluster, name }: ObjectReference, offers: readonly Offer[]): TakenNames {
    const groups = new Set(offers.map(({ schema }) => schema.spec?.group ?? ''));
    const taken: NamedDefinition[] = this.#definitions.list({ cluster }).map((definition) => ({ definition }));
    for (const binding of this.#bindings.list({ cluster })) {
      if (binding.metadata.name === name) continue;
      for (const { group, schema } of binding.status?.boundResources ?? []) {
        const definition = groups.has(group) ? this.#definition(schema.UID) : undefined;
        if (definition !== undefined) taken.push({ definition, binding });
      }
    }
    return taken.length === 0 ? noTakenNames : new TakenNames(taken);
  }

  /** Whether a binding has a resource with just the names of this schema. */
  #hasNames({ status }: DeepReadonly<APIBinding>, { metadata, spec }: DeepReadonly<APIResourceSchema>): boolean {
    const { group = '', names } = spec ?? {};
    const bound = status?.boundResources?.find((entry) => entry.resource === names?.plural && entry.group === group);
    if (bound === undefined) return false;
    return bound.schema.UID === metadata.uid || haveSameNames(this.#definition(bound.schema.UID)?.spec.names, names);
  }

  #definition(name: string): DeepReadonly<CustomResourceDefinition> | undefined {
    return this.#definitions.get({ cluster: boundCluster, namespace: '', name });
  }

  /** False: one of them cannot be, and the status tells why. */
  async #makeDefinitions(missing: readonly DeepReadonly<APIResourceSchema>[], status: BindingStatus): Promise<boolean> {
    try {
      const problems = await Promise.all(missing.map((schema) => this.#maker.make(schema)));
      const message = problems.find((problem) => problem !== undefined);
      if (message === undefined) return true;
      status.incomplete({ reason: 'APIResourceSchemaInvalid', message });
      return false;
    } catch (error) {
      const message =
        'An internal error prevented the APIBinding process from completing. Please contact your system administrator for assistance';
      status.incomplete({ reason: 'InternalError', message });
      throw error;
    }
  }
}

const wordsOf = (binding: DeepReadonly<APIBinding>, { cluster }: ObjectReference): string =>
  `${pathOf(exportOfBinding(binding), cluster)}|${exportOfBinding(binding).name ?? ''}`;
const uidOf = ({ metadata }: DeepReadonly<APIResourceSchema>): string => metadata.uid ?? '';
const clusterOf = ({ metadata }: DeepReadonly<APIExport>): string => metadata.annotations?.[clusterAnnotation] ?? '';

/** All but categories, which may be shared. */
function haveSameNames(a: DeepReadonly<CrdNames> | undefined, b: DeepReadonly<CrdNames> | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const words = (names: DeepReadonly<CrdNames>): string => {
    const { plural, singular = names.kind.toLowerCase(), kind, listKind = `${kind}List`, shortNames = [] } = names;
    return JSON.stringify([plural, singular, kind, listKind, shortNames]);
  };
  return words(a) === words(b);
}
