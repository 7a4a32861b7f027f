import type { DeepReadonly, Json, JsonObject } from '../json/json.ts';
import { goNumeric } from './go-float.ts';
import { quote } from './go-quote.ts';

/** Go prints values whole. A message with megabytes of a value is unreadable, and printing it is a long turn of the event loop. */
const defaultLimit = 64 * 1024;
/** At the end of a text that was cut. */
const cut = '…';

/**
 * A value as Go's `%v` prints it. At most about `limit` characters, then `…`: of a value with more members than fit, these are the
 * first ones as they were sent.
 */
export function goValueText(value: DeepReadonly<Json>, limit = defaultLimit): string {
  const text = new LimitedText(limit);
  text.value(value as Json);
  return text.toString();
}

/** A value as Go's `%#v` prints it, limited as {@link goValueText}. */
export function goSyntaxText(value: DeepReadonly<Json>, limit = defaultLimit): string {
  const text = new LimitedText(limit);
  text.syntax(value as Json);
  return text.toString();
}

class LimitedText {
  readonly #parts: string[] = [];
  #left: number;

  constructor(limit: number) {
    this.#left = limit;
  }

  toString(): string {
    return this.#left > 0 ? this.#parts.join('') : `${this.#parts.join('')}${cut}`;
  }

  #add(text: string): void {
    if (this.#left <= 0) return;
    this.#parts.push(text.length > this.#left ? text.slice(0, this.#left).toWellFormed() : text);
    this.#left -= text.length;
  }

  /** As much of a text as may fit. */
  #start(text: string): string {
    return text.slice(0, Math.max(this.#left, 0)).toWellFormed();
  }

  value(value: Json): void {
    if (value === null) this.#add('<nil>');
    else if (typeof value === 'number' || typeof value === 'bigint') this.#add(goNumeric(value));
    else if (typeof value !== 'object') this.#add(String(value));
    else if (Array.isArray(value)) this.#list(value, '[', ' ', ']', (item) => this.value(item));
    else
      this.#list(this.#keys(value), 'map[', ' ', ']', (key) => {
        this.#add(`${key}:`);
        this.value(value[key] as Json);
      });
  }

  syntax(value: Json): void {
    if (value === null) this.#add('interface {}(nil)');
    else if (typeof value === 'string') this.#add(quote(this.#start(value)));
    else if (typeof value === 'boolean') this.#add(String(value));
    else if (typeof value !== 'object') this.#add(goNumeric(value));
    else if (Array.isArray(value)) this.#list(value, '[]interface {}{', ', ', '}', (item) => this.syntax(item));
    else
      this.#list(this.#keys(value), 'map[string]interface {}{', ', ', '}', (key) => {
        this.#add(`${quote(this.#start(key))}:`);
        this.syntax(value[key] as Json);
      });
  }

  /** Sorted, as Go prints them; no more than may fit. */
  #keys(object: JsonObject): readonly string[] {
    return Object.keys(object).slice(0, Math.max(this.#left, 0)).toSorted();
  }

  #list<T>(items: readonly T[], start: string, separator: string, end: string, add: (item: T) => void): void {
    this.#add(start);
    for (const [index, item] of items.entries()) {
      if (this.#left <= 0) return;
      if (index > 0) this.#add(separator);
      add(item);
    }
    this.#add(end);
  }
}
