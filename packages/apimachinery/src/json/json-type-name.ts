import type { Json } from './json.ts';

/** How Go's decoder names what it found where it wanted something else. */
export function jsonTypeName(value: Json): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'number' : typeof value;
}
