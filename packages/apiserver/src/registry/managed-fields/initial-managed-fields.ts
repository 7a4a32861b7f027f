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
import type { FieldKind, FieldWrite } from './field-write.ts';
import { managedView } from './managed-view.ts';
import type { MetadataTimes } from './object-metadata.ts';
import { resetFilter, withoutUnmanaged } from './reset-fields.ts';
import { updaterKey } from './updater-key.ts';

/** The writer of a new object, and the entries that say so: shared by all objects of which they are true, so frozen. */
interface NewOwner {
  readonly fieldManager: string;
  readonly subresource: string;
  readonly set: FieldSet;
  readonly time: string;
  readonly entries: readonly JsonObject[];
}

/** Says whose the fields of new objects are (K4.5). */
export class NewOwners {
  readonly #times: MetadataTimes;
  /** What new objects are compared with, and what the writer of the last one came to own. */
  readonly #kinds = new WeakMap<FieldKind, { readonly empty: DeepReadonly<JsonObject>; last: NewOwner | undefined }>();

  constructor(modules: { readonly times: MetadataTimes }) {
    this.#times = modules.times;
  }

  /**
   * A new object that brings no owners: all of it is its writer's. The same as below, without what nobody has to ask. Most
   * objects of a kind have the fields that the one before had, and the same writer in the same second: they share entries.
   */
  own(write: FieldWrite, object: KubeObject): void {
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
