import { maxJsonMembers } from '../json/json-codec.ts';
import type { JsonObject } from '../json/json.ts';
import { statusErrors, type StatusError } from '../errors/status-error.ts';

/** 413 of a change that makes an object wider than a body may be: a PUT of what a GET returned would be refused. */
export const tooManyMembers = (): StatusError =>
  statusErrors.tooLarge(`an object would have more than ${maxJsonMembers} members`);

/** Enumerating so many names is a step of its own. */
const manyMembers = 2_000;

/** Counts the members of an object while a patch adds to it. */
export class MemberCount {
  readonly #object: JsonObject;
  /** Unknown until the first addition. */
  #count: number | undefined;

  constructor(object: JsonObject) {
    this.#object = object;
  }

  /** To be called before a member is set. */
  *beforeSet(name: string): Generator<void, void> {
    if (Object.hasOwn(this.#object, name)) return;
    if (this.#count === undefined) {
      this.#count = Object.keys(this.#object).length;
      if (this.#count > manyMembers) yield;
    }
    this.#count++;
  }

  delete(name: string): void {
    if (this.#count !== undefined && Object.hasOwn(this.#object, name)) this.#count--;
    delete this.#object[name];
  }

  /** Throws {@link tooManyMembers}; to be called when all members of the patch are merged, which may come before those it removes. */
  check(): void {
    if (this.#count !== undefined && this.#count > maxJsonMembers) throw tooManyMembers();
  }
}
