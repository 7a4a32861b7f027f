import { asJson, type DeepReadonly, type Json, type JsonObject } from '@multiplane/apimachinery';
import {
  fieldAt,
  fieldNames,
  scalarText,
  scaleOfRequest,
  withField,
  type AdmissionAttributes,
  type StoredFields,
} from '@multiplane/apiserver';
import { shownKey } from '@multiplane/apis';
import type { ScopedFields } from './scoped-update.ts';

interface FieldValue {
  readonly before: Json | undefined;
  readonly asked: Json | undefined;
  readonly isDefaulted: boolean;
  value: string | undefined;
}

/** The values of protected fields in a create or an update, as the object is stored; see `StoredFields`. */
export class FieldValues implements ScopedFields {
  readonly #attributes: AdmissionAttributes;
  readonly #stored: StoredFields;
  readonly #values: ReadonlyMap<string, FieldValue>;

  private constructor(attributes: AdmissionAttributes, stored: StoredFields, values: ReadonlyMap<string, FieldValue>) {
    this.#attributes = attributes;
    this.#stored = stored;
    this.#values = values;
  }

  /** Undefined where the object has no protected fields. */
  static async read(attributes: AdmissionAttributes): Promise<FieldValues | undefined> {
    const { storedFields: stored, oldObject } = attributes;
    const paths = stored?.protect() ?? [];
    if (stored === undefined || paths.length === 0) return undefined;
    const asked = await askedObject(attributes, stored);
    let seen: DeepReadonly<JsonObject> | undefined;
    const values = new Map<string, FieldValue>();
    for (const path of paths) {
      const before = stored.before(path);
      let wanted = asked === undefined ? before : valueIn(asked, path);
      let isDefaulted = false;
      if (oldObject !== undefined && scalarText(wanted) !== scalarText(before)) {
        seen ??= await stored.inStorage(oldObject);
        // What a client reads may differ from what is stored: a value that it sends back is none that it changed.
        const isUnchanged = scalarText(valueIn(seen, path)) === scalarText(wanted);
        isDefaulted = isUnchanged && scalarText(before) === undefined;
        if (isUnchanged && !isDefaulted) wanted = before;
      }
      values.set(path, { before, asked: wanted, isDefaulted, value: scalarText(wanted) });
    }
    return new FieldValues(attributes, stored, values);
  }

  before(key: string): string | undefined {
    return scalarText(this.#values.get(key)?.before);
  }

  after(key: string): string | undefined {
    return this.#values.get(key)?.value;
  }

  isDefaulted(key: string): boolean {
    return this.#values.get(key)?.isDefaulted === true;
  }

  set(key: string, value: string | undefined): void {
    const known = this.#values.get(key);
    if (known !== undefined) known.value = value;
  }

  /** Admits the values that the rules have left, and shows them in the object where its version has the field. */
  admit(): void {
    const { object, definition } = this.#attributes;
    for (const [path, { before, asked, value }] of this.#values) {
      if (value === scalarText(before) && value === scalarText(asked)) continue;
      const json = value === undefined ? undefined : this.#jsonOf(path, value);
      if (value !== scalarText(before)) this.#stored.admit(path, json);
      const isShown = this.#stored.isStoredVersion || Object.hasOwn(definition.fieldSelectors, shownKey(path));
      if (object === undefined || json === undefined || value === scalarText(asked) || !isShown) continue;
      const names = fieldNames(path);
      const [root = ''] = names;
      asJson(object)[root] = withField(asJson(object), names, json)[root] as Json;
    }
  }

  #jsonOf(path: string, value: string): Json {
    const { before, asked } = this.#values.get(path) ?? {};
    const same = [before, asked].find((one) => scalarText(one) === value);
    if (same !== undefined) return same;
    const type = this.#stored.typeOf(path);
    if (type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true';
    return type === 'integer' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  }
}

/** The object of the request as it would be stored; undefined: the request does not write the protected fields. */
async function askedObject(
  attributes: AdmissionAttributes,
  stored: StoredFields,
): Promise<DeepReadonly<JsonObject> | undefined> {
  const { object, subresource, definition } = attributes;
  // Subresources other than scale leave all but their own part as it is.
  if (object === undefined || (subresource !== '' && scaleOfRequest(attributes, definition) === undefined))
    return undefined;
  try {
    return await stored.inStorage(object);
  } catch (error) {
    // Rules may fail on an object that validation, which comes later, refuses. Until then it keeps what is stored.
    if (definition.conversion !== undefined) throw error;
    return undefined;
  }
}

const valueIn = (object: DeepReadonly<JsonObject>, path: string): Json | undefined =>
  fieldAt(object as JsonObject, path);
