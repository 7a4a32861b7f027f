import {
  type DeepReadonly,
  type FieldSet,
  type JsonObject,
  type KubeObject,
  ListItemError,
  apiVersionOf,
  deepFreeze,
  encodeManagedFields,
  fieldsOfNew,
} from '@multiplane/apimachinery';
import type { MetadataTimes } from '../codec/metadata-time.ts';
import type { FieldManagerKind, FieldManagerRequest } from './field-manager-request.ts';
import { managedView } from './managed-view.ts';
import { resetFilter, withoutUnmanaged } from './reset-fields.ts';
import { updaterKey } from './updater-key.ts';

/** The entries of a new object with what they depend on. Entries are shared by all objects that need the same, so frozen. */
interface CachedEntries {
  readonly fieldManager: string;
  readonly subresource: string;
  readonly set: FieldSet;
  readonly time: string;
  readonly entries: readonly JsonObject[];
}

/**
 * Sets the managedFields of new objects that have none: the creating manager owns all fields.
 *
 * Most objects of a kind have the same fields as the previous one, and the same manager within the same second. So the
 * entries of the last object of each kind are kept and reused.
 */
export class InitialManagedFields {
  readonly #times: MetadataTimes;
  /** By kind: the empty object that new ones are compared with, and the entries of the last one. */
  readonly #kinds = new WeakMap<
    FieldManagerKind,
    { readonly empty: DeepReadonly<JsonObject>; last: CachedEntries | undefined }
  >();

  constructor(modules: { readonly times: MetadataTimes }) {
    this.#times = modules.times;
  }

  /** In place. An object whose lists have invalid keys gets no managedFields. */
  set(write: FieldManagerRequest, object: KubeObject): void {
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
    const hasSameSet = last?.set.equals(set) === true;
    if (!hasSameSet || last.time !== time || last.fieldManager !== fieldManager || last.subresource !== subresource) {
      // An equal set is reused because it caches its encoding.
      const cached = { fieldManager, subresource, set: hasSameSet ? last.set : set, time };
      kind.last = { ...cached, entries: entriesOfNew(cached, definition) };
    }
    object.metadata.managedFields = kind.last?.entries as JsonObject[];
  }
}

function entriesOfNew(
  { fieldManager, subresource, set, time }: Omit<CachedEntries, 'entries'>,
  definition: FieldManagerKind,
): readonly JsonObject[] {
  const apiVersion = apiVersionOf(definition);
  const key = updaterKey(fieldManager, apiVersion, subresource);
  const managers = new Map([[key, { set, apiVersion, applied: false }]]);
  const entries = encodeManagedFields({ managers, times: new Map([[key, time]]) }, definition.origin === 'custom');
  return deepFreeze(entries) as readonly JsonObject[];
}
