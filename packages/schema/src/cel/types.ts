import { reservedFieldName } from './reserved-names.ts';

/** Kinds of types as the checker tells them apart. */
export type CelKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null_type'
  | 'opaque'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'param'
  | 'uint';

/** A type. Immutable but for the fields of a struct, which may refer back to it. */
export interface CelType {
  readonly kind: CelKind;
  readonly name: string;
  readonly params: readonly CelType[];
  /** Types of the fields of a struct, by their CEL names. */
  readonly fields?: ReadonlyMap<string, CelType> | undefined;
  /** A struct with fields of any name, of which nothing more is known. */
  readonly open?: boolean | undefined;
}

const simple = (kind: CelKind, name: string = kind): CelType => ({ kind, name, params: [] });
export const boolType = simple('bool');
export const bytesType = simple('bytes');
export const doubleType = simple('double');
export const durationType = simple('duration', 'google.protobuf.Duration');
export const dynType = simple('dyn');
export const errorType = simple('error', '!error!');
export const intType = simple('int');
export const nullType = simple('null_type');
export const stringType = simple('string');
export const timestampType = simple('timestamp', 'google.protobuf.Timestamp');
export const uintType = simple('uint');
export const typeType = simple('type');
export const listType = (item: CelType): CelType => ({ kind: 'list', name: 'list', params: [item] });
export const mapType = (key: CelType, value: CelType): CelType => ({ kind: 'map', name: 'map', params: [key, value] });
export const typeOfType = (type: CelType): CelType => ({ kind: 'type', name: 'type', params: [type] });
export const opaqueType = (name: string, ...params: CelType[]): CelType => ({ kind: 'opaque', name, params });
export const optionalType = (item: CelType): CelType => opaqueType('optional_type', item);
export const paramType = (name: string): CelType => ({ kind: 'param', name, params: [] });
export const structType = (name: string, fields: ReadonlyMap<string, CelType>): CelType => ({
  kind: 'struct',
  name,
  params: [],
  fields,
});

export const openStructType = (name: string): CelType => ({ kind: 'struct', name, params: [], open: true });
/** The type of a field; undefined: there is none of this name. */
export function fieldTypeOf(struct: CelType, field: string): CelType | undefined {
  if (struct.open === true) return dynType;
  const escaped = reservedFieldName(field);
  return struct.fields?.get(field) ?? (escaped === undefined ? undefined : struct.fields?.get(escaped));
}

/** Whether two types are one; `loosely`: parameters do not count (types as values). */
export function sameType(left: CelType, right: CelType, loosely = false): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || left.name !== right.name) return false;
  if (loosely) return true;
  if (left.params.length !== right.params.length) return false;
  return left.params.every((param, index) => sameType(param, right.params[index] as CelType));
}

export const isDyn = (type: CelType): boolean => type.kind === 'dyn';
export const isOptional = (type: CelType): boolean => type.kind === 'opaque' && type.name === 'optional_type';
export const unwrapOptional = (type: CelType): CelType => (isOptional(type) ? (type.params[0] as CelType) : type);

/** A type as messages print it (cel-go `FormatCELType`). */
export function typeText(type: CelType): string {
  switch (type.kind) {
    case 'list':
    case 'map':
      return `${type.name}(${type.params.map(typeText).join(', ')})`;
    case 'type':
      return type.params[0] === undefined ? 'type' : `type(${typeText(type.params[0])})`;
    case 'opaque':
      return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(typeText).join(', ')})`;
    case 'null_type':
      return 'null';
    case 'duration':
    case 'timestamp':
      return type.kind;
    default:
      return type.name;
  }
}
