import type { Constant } from './constant.ts';
import {
  boolType,
  bytesType,
  doubleType,
  durationType,
  dynType,
  intType,
  listType,
  mapType,
  nullType,
  opaqueType,
  stringType,
  timestampType,
  typeOfType,
  typeType,
  uintType,
  type CelType,
} from './types.ts';
import {
  CelDuration,
  CelMap,
  CelObject,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  isList,
  type CelValue,
} from './values.ts';

const list = listType(dynType);
const map = mapType(dynType, dynType);
const optional = opaqueType('optional_type');

/** The names of CEL's own types, which are values: `type(1) == int`. */
export const standardTypes: ReadonlyMap<string, Constant> = new Map(
  [
    boolType,
    bytesType,
    doubleType,
    durationType,
    intType,
    list,
    map,
    nullType,
    stringType,
    timestampType,
    typeType,
    uintType,
    optional,
  ].map((type): [string, Constant] => [type.name, { type: typeOfType(type), value: new CelTypeValue(type) }]),
);

/** The type of a value, as far as it can be seen at run time. */
export function typeOfValue(value: CelValue): CelType {
  switch (typeof value) {
    case 'bigint':
      return intType;
    case 'number':
      return doubleType;
    case 'string':
      return stringType;
    case 'boolean':
      return boolType;
    default:
  }
  if (value === null) return nullType;
  if (isList(value)) return list;
  if (value instanceof CelMap) return map;
  if (value instanceof CelObject) return value.fields.isMap ? map : value.fields.type;
  if (value instanceof Uint8Array) return bytesType;
  if (value instanceof CelUint) return uintType;
  if (value instanceof CelTimestamp) return timestampType;
  if (value instanceof CelDuration) return durationType;
  if (value instanceof CelOptional) return optional;
  if (value instanceof CelTypeValue) return typeType;
  return value.type;
}

/** Whether a value may be passed where the type is declared: by its outermost type, as cel-go dispatches. */
export function valueFits(value: CelValue, type: CelType): boolean {
  if (type.kind === 'dyn' || type.kind === 'param' || type.kind === 'error') return true;
  const actual = typeOfValue(value);
  return actual.kind === type.kind && (actual.name === type.name || type.kind === 'type');
}

const goNames: ReadonlyMap<string, string> = new Map([
  ['list', '*types.baseList'],
  ['map', '*types.baseMap'],
  ['type', '*types.Type'],
  ['optional_type', '*types.Optional'],
  ['google.protobuf.Timestamp', 'types.Timestamp'],
  ['google.protobuf.Duration', 'types.Duration'],
  ['kubernetes.Quantity', 'cel.Quantity'],
  ['kubernetes.Semver', 'cel.Semver'],
  ['kubernetes.URL', 'cel.URL'],
  ['kubernetes.NamedFormat', 'cel.Format'],
  ['net.IP', 'cel.IP'],
  ['net.CIDR', 'cel.CIDR'],
]);

/** The Go type that cel-go names where it asserts one; of lists and maps that of literals. */
export function goTypeOf(value: CelValue): string {
  if (value instanceof Uint8Array) return 'types.Bytes';
  if (value instanceof CelUint) return 'types.Uint';
  const names: Readonly<Record<string, string>> = {
    string: 'String',
    bigint: 'Int',
    number: 'Double',
    boolean: 'Bool',
  };
  const name = names[typeof value] ?? (value === null ? 'Null' : undefined);
  if (name !== undefined) return `types.${name}`;
  return goNames.get(typeOfValue(value).name) ?? typeOfValue(value).name;
}
