import { type DeepReadonly, type Json, type JsonObject, deepEqual, isJsonObject } from '../json/json.ts';
import { FieldSet } from './field-set.ts';
import { type ListElements, DeferredWork, elementAt, longList } from './list-elements.ts';
import { type PathElement, fieldElement } from './path-element.ts';
import { type Form, type ListType, type MapType, type TypedSchema, fieldSchema, formOf } from './typed-schema.ts';

/** What happened to an object: the fields that came, went and have another value. */
export class Comparison {
  readonly added: FieldSet;
  readonly removed: FieldSet;
  readonly modified: FieldSet;

  constructor(added: FieldSet, removed: FieldSet, modified: FieldSet) {
    this.added = added;
    this.removed = removed;
    this.modified = modified;
  }

  get isSame(): boolean {
    return this.added.isEmpty && this.removed.isEmpty && this.modified.isEmpty;
  }

  /** Every set narrowed by the same rule. */
  filter(rule: (set: FieldSet) => FieldSet): Comparison {
    return new Comparison(rule(this.added), rule(this.removed), rule(this.modified));
  }
}

/** Compares two states of an object field by field. Throws when list items have no unique keys. */
export function compareTyped(
  before: DeepReadonly<JsonObject>,
  after: DeepReadonly<JsonObject>,
  schema: TypedSchema,
): Comparison {
  const comparer = new Comparer();
  comparer.visit(before as JsonObject, after as JsonObject, schema);
  return comparer.result;
}

/** {@link compareTyped} of something big: pauses, and puts the children of wide places off to later steps. */
export function* compareIncrementally(
  before: DeepReadonly<JsonObject>,
  after: DeepReadonly<JsonObject>,
  schema: TypedSchema,
  elements: ListElements,
): Generator<void, Comparison> {
  const later = new DeferredWork();
  const comparer = new Comparer(elements, later);
  comparer.visit(before as JsonObject, after as JsonObject, schema);
  yield* later.steps();
  return comparer.result;
}

class Comparer {
  readonly #elements: ListElements | undefined;
  readonly #later: DeferredWork | undefined;
  readonly #added = new FieldSet(false, undefined);
  readonly #removed = new FieldSet(false, undefined);
  readonly #modified = new FieldSet(false, undefined);
  #path: PathElement[] = [];

  constructor(elements?: ListElements, later?: DeferredWork) {
    this.#elements = elements;
    this.#later = later;
  }

  get result(): Comparison {
    return new Comparison(this.#added, this.#removed, this.#modified);
  }

  visit(before: Json | undefined, after: Json | undefined, schema: TypedSchema): void {
    if (before === after) return;
    // A value that is in place of one of another form is two changes: that one went, this one came.
    const oldForm = before === undefined ? undefined : formOf(schema, before);
    const newForm = after === undefined ? undefined : formOf(schema, after);
    let whole = false;
    if (oldForm !== undefined && newForm !== undefined && oldForm !== newForm) {
      whole = this.#visitAs(oldForm, before, after, schema);
    }
    whole = this.#visitAs(newForm ?? (oldForm as Form), before, after, schema) || whole;
    if (whole) return;
    if (before === undefined) this.#added.insert(this.#path);
    else if (after === undefined) this.#removed.insert(this.#path);
  }

  /** True when the place was compared as one field. */
  #visitAs(form: Form, before: Json | undefined, after: Json | undefined, schema: TypedSchema): boolean {
    switch (form) {
      case 'map':
        return this.#maps(before, after, schema.map as MapType);
      case 'list':
        return this.#lists(before, after, schema.list as ListType);
      case 'scalar':
        return this.#whole(before, after);
      case 'none':
        return false;
    }
  }

  #whole(before: Json | undefined, after: Json | undefined): true {
    if (before === undefined) this.#added.insert(this.#path);
    else if (after === undefined) this.#removed.insert(this.#path);
    else if (!deepEqual(before, after)) this.#modified.insert(this.#path);
    return true;
  }

  #maps(before: Json | undefined, after: Json | undefined, map: MapType): boolean {
    if (map.atomic) return this.#whole(before, after);
    const left = before !== undefined && isJsonObject(before) ? before : none;
    const right = after !== undefined && isJsonObject(after) ? after : none;
    const leftKeys = Object.keys(left);
    const later = leftKeys.length >= longList ? this.#later : undefined;
    if (later !== undefined) {
      // V8 enumerates the keys of a wide object in one step, so those of the other have a step of their own.
      const path = [...this.#path];
      later.run(
        function* (this: Comparer) {
          yield;
          this.#path = path;
          this.#rightOnly(left, right, Object.keys(right), map);
        }.bind(this),
      );
    }
    const rightKeys = later === undefined ? Object.keys(right) : [];
    if (leftKeys.length === 0 && rightKeys.length === 0) return this.#whole(before, after);
    this.#each(leftKeys, (name) => {
      const value = left[name];
      const other = Object.hasOwn(right, name) ? right[name] : undefined;
      if (value !== other) this.#descend(fieldElement(name), value, other, fieldSchema(map, name));
    });
    this.#rightOnly(left, right, rightKeys, map);
    return false;
  }

  #rightOnly(left: JsonObject, right: JsonObject, names: readonly string[], map: MapType): void {
    this.#each(names, (name) => {
      if (!Object.hasOwn(left, name)) this.#descend(fieldElement(name), undefined, right[name], fieldSchema(map, name));
    });
  }

  #lists(before: Json | undefined, after: Json | undefined, list: ListType): boolean {
    if (list.atomic) return this.#whole(before, after);
    const left = Array.isArray(before) ? before : [];
    const right = Array.isArray(after) ? after : [];
    if (left.length === 0 && right.length === 0) return this.#whole(before, after);
    // The same items at the same positions need no identification.
    if (left.length === right.length && deepEqual(left, right)) return false;
    const [lefts, rights] = [new IndexedItems(), new IndexedItems()];
    const compare = (): void => {
      this.#each([...lefts.items.keys()], (element) =>
        this.#items(element, lefts.all(element), rights.all(element), list.element),
      );
      this.#each([...rights.items.keys()], (element) => {
        if (!lefts.items.has(element)) this.#items(element, noItems, rights.all(element), list.element);
      });
    };
    const index = (items: readonly Json[], into: IndexedItems): ((at: number) => void) => {
      const known = this.#elements?.of(list, items);
      return (at) => into.add(elementAt(list, items, at, known), items[at] as Json);
    };
    const [addLeft, addRight] = [index(left, lefts), index(right, rights)];
    const later = this.#later;
    if (later?.defers(left.length + right.length) !== true) {
      for (let at = 0; at < left.length; at++) addLeft(at);
      for (let at = 0; at < right.length; at++) addRight(at);
      compare();
    } else {
      // What is put off last is done first.
      const path = [...this.#path];
      later.each(1, () => {
        this.#path = path;
        compare();
      });
      later.each(right.length, addRight);
      later.each(left.length, addLeft);
    }
    return false;
  }

  /** Does something for each child of this place, later where there are many: the sets do not mind the order. */
  #each<T>(children: readonly T[], one: (child: T) => void): void {
    if (this.#later?.defers(children.length) !== true) {
      for (const child of children) one(child);
      return;
    }
    const path = [...this.#path];
    this.#later.each(children.length, (index) => {
      this.#path = path;
      one(children[index] as T);
    });
  }

  /** Items of one element. Several of them are one field together. */
  #items(element: PathElement, before: readonly Json[], after: readonly Json[], schema: TypedSchema): void {
    if (before.length <= 1 && after.length <= 1) return this.#descend(element, before[0], after[0], schema);
    if (before.length > 1 && after.length > 1) {
      if (!deepEqual(before, after)) this.#mark(this.#modified, element);
    } else if (before.length > 1) {
      if (after.length > 0) this.#descend(element, undefined, after[0], schema);
      this.#mark(this.#removed, element);
    } else {
      if (before.length > 0) this.#descend(element, before[0], undefined, schema);
      this.#mark(this.#added, element);
    }
  }

  #mark(set: FieldSet, element: PathElement): void {
    this.#path.push(element);
    set.insert(this.#path);
    this.#path.pop();
  }

  #descend(element: PathElement, before: Json | undefined, after: Json | undefined, schema: TypedSchema): void {
    this.#path.push(element);
    this.visit(before, after, schema);
    this.#path.pop();
  }
}

const none: JsonObject = Object.freeze({});

const noItems: readonly Json[] = [];

/** The items of a list by their elements; those of which there are several lie apart. */
class IndexedItems {
  readonly items = new Map<PathElement, Json>();
  #repeated: Map<PathElement, Json[]> | undefined;

  add(element: PathElement, item: Json): void {
    const known = this.items.get(element);
    if (known === undefined) {
      this.items.set(element, item);
      return;
    }
    this.#repeated ??= new Map();
    const all = this.#repeated.get(element);
    if (all === undefined) this.#repeated.set(element, [known, item]);
    else all.push(item);
  }

  /** All items of an element. */
  all(element: PathElement): readonly Json[] {
    const first = this.items.get(element);
    if (first === undefined) return noItems;
    return this.#repeated?.get(element) ?? [first];
  }
}
