import { operators } from './ast.ts';
import { CelError, noSuchOverload } from './cel-error.ts';
import { equal } from './equality.ts';
import { keyText } from './standard-library.ts';
import { declare, type CelFunction, type Overload } from './function-declaration.ts';
import {
  CelDuration,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelUint,
  isList,
  optionalNone,
  type CelValue,
} from './values.ts';

const special: CelFunction = () => {
  throw noSuchOverload();
};
const inside = (value: CelValue | undefined): CelValue | undefined => (value as CelOptional).value;

/** Whether a value is the zero of its type. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === '' || value === 0n || value === 0) return true;
  if (value instanceof CelUint) return value.value === 0n;
  if (isList(value) || value instanceof Uint8Array) return value.length === 0;
  if (value instanceof CelMap) return value.size === 0;
  if (value instanceof CelDuration) return value.nanos === 0n;
  return value instanceof CelTimestamp && equal(value, new CelTimestamp(-62_135_596_800_000_000_000n));
}

function itemAt(list: CelValue | undefined, index: number): CelOptional {
  const item = (list as readonly CelValue[]).at(index);
  return item === undefined ? optionalNone : new CelOptional(item);
}
const unwrapAll: CelFunction = (list) =>
  (list as readonly CelValue[]).flatMap((item) => {
    if (!(item instanceof CelOptional)) throw noSuchOverload();
    return item.value === undefined ? [] : [item.value];
  });

/** Optional values (cel-go `cel/library.go`, version 2 of its optional types). */
export const optionalLibrary: readonly Overload[] = [
  declare('optional.of', 'optional_of', '(V) optional(V)', (value) => new CelOptional(value)),
  declare('optional.ofNonZeroValue', 'optional_ofNonZeroValue', '(V) optional(V)', (value) =>
    isZero(value) ? optionalNone : new CelOptional(value),
  ),
  declare('optional.none', 'optional_none', '() optional(V)', () => optionalNone),
  declare('value', 'optional_value', 'optional(V).() V', (optional) => {
    const value = inside(optional);
    if (value === undefined) throw new CelError('optional.none() dereference');
    return value;
  }),
  declare('hasValue', 'optional_hasValue', 'optional(V).() bool', (optional) => inside(optional) !== undefined),
  declare('or', 'optional_or_optional', 'optional(V).(optional(V)) optional(V)', special),
  declare('orValue', 'optional_orValue_value', 'optional(V).(V) V', special),
  declare('first', 'list_first', 'list(V).() optional(V)', (list) => itemAt(list, 0)),
  declare('last', 'list_last', 'list(V).() optional(V)', (list) => itemAt(list, -1)),
  declare('optional.unwrap', 'optional_unwrap', '(list(optional(V))) list(V)', unwrapAll),
  declare('unwrapOpt', 'optional_unwrapOpt', 'list(optional(V)).() list(V)', unwrapAll),
  declare(operators.optIndex, 'list_optindex_optional_int', '(list(V), int) optional(V)', special),
  declare(operators.optIndex, 'optional_list_optindex_optional_int', '(optional(list(V)), int) optional(V)', special),
  declare(operators.optIndex, 'map_optindex_optional_value', '(map(K, V), K) optional(V)', special),
  declare(operators.optIndex, 'optional_map_optindex_optional_value', '(optional(map(K, V)), K) optional(V)', special),
];

/** What comprehensions over two variables need beside macros: a map that grows. */
export const comprehensionLibrary: readonly Overload[] = [
  declare('cel.@mapInsert', '@mapInsert_map_map', '(map(K, V), map(K, V)) map(K, V)', (map, entries) => {
    for (const [key, value] of (entries as CelMap).entries()) insert(map as CelMap, key, value);
    return map;
  }),
  declare('cel.@mapInsert', '@mapInsert_map_key_value', '(map(K, V), K, V) map(K, V)', (map, key, value) => {
    insert(map as CelMap, key, value);
    return map;
  }),
];

/** Only macros call this, with the accumulator that they alone hold. */
function insert(map: CelMap, key: CelValue, value: CelValue): void {
  if (!map.insert(key, value)) throw new CelError(`insert failed: key ${keyText(key)} already exists`);
}
