import { canonicalMicroTime, type Json } from '@multiplane/apimachinery';
import { ARRAY, BOOLEAN, INTEGER, NUMBER, OBJECT, STRING, type SchemaNode } from './schema-node.ts';

/*
 * What the schema of a native kind tells of the Go type behind it.
 */

export const isQuantity = (node: SchemaNode): boolean => node.definition.endsWith('.Quantity');

/** What replaces null in a list or a map. */
export function zeroOf(node: SchemaNode): Json {
  if (node.preserve || node.types === 0) return null;
  if ((node.types & INTEGER) !== 0 || (node.types & NUMBER) !== 0) return 0;
  if ((node.types & STRING) !== 0) return node.format?.name === 'date-time' ? null : '';
  if ((node.types & BOOLEAN) !== 0) return false;
  return (node.types & OBJECT) !== 0 && node.properties !== undefined ? {} : null;
}

/** Whether a text fits a type of times; one with microseconds needs all of them. */
export const isTime = (text: string, node: SchemaNode): boolean =>
  node.definition.endsWith('.MicroTime') ? canonicalMicroTime(text) !== undefined : node.format?.check?.(text) === true;

/** The name of the type as Go prints it. */
export function goType(node: SchemaNode): string {
  // Times decode themselves, from a text.
  if (node.format?.name === 'date-time') return 'string';
  if (node.definition !== '') {
    const [version, name] = node.definition.split('.').slice(-2);
    return `${version}.${name}`;
  }
  if (node.types === (INTEGER | STRING)) return 'intstr.IntOrString';
  if ((node.types & STRING) !== 0) return node.format?.name === 'byte' ? '[]uint8' : 'string';
  if ((node.types & INTEGER) !== 0) return node.format?.name ?? 'int64';
  if ((node.types & NUMBER) !== 0) return 'float64';
  if ((node.types & BOOLEAN) !== 0) return 'bool';
  if ((node.types & ARRAY) !== 0) return `[]${node.items === undefined ? 'interface {}' : goType(node.items)}`;
  return node.additional === undefined ? 'map[string]interface {}' : `map[string]${goType(node.additional)}`;
}

/**
 * Position that Go reports for a text that is no padded standard base64, undefined if it is. Line breaks are skipped; an
 * incomplete group at the end is reported where it would have begun without line breaks.
 */
export function illegalBase64(text: string): number | undefined {
  let digits = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (isLineBreak(code)) continue;
    if (code === padding) return illegalPadding(text, index, digits);
    if (!isBase64Digit(code)) return byteLength(text, index);
    digits = (digits + 1) & 3;
  }
  return digits === 0 ? undefined : byteLength(text, text.length) - digits;
}

const padding = 0x3d;
const isLineBreak = (code: number): boolean => code === 10 || code === 13;

const isBase64Digit = (code: number): boolean =>
  (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || code === 43 || code === 47;

/** `at`: the first `=`, after so many digits of its group. */
function illegalPadding(text: string, at: number, digits: number): number | undefined {
  if (digits < 2) return at;
  const next = (from: number): number => {
    let index = from;
    while (isLineBreak(text.charCodeAt(index))) index++;
    return index;
  };
  let end = next(at + 1);
  if (digits === 2) {
    if (end === text.length) return end;
    if (text.charCodeAt(end) !== padding) return end - 1;
    end = next(end + 1);
  }
  return end < text.length ? end : undefined;
}

const byteLength = (text: string, end: number): number => Buffer.byteLength(text.slice(0, end));
