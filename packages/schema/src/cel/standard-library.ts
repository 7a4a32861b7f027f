import { runeCount } from '../go-text.ts';
import { operators } from './ast.ts';
import { CelError, noSuchOverload } from './cel-error.ts';
import { conversions, doubleText } from './conversion-library.ts';
import { compareValues, equal, int64, mergeKeyed, uint64 } from './equality.ts';
import { declare, type CelFunction, type Overload } from './function-declaration.ts';
import { standardRegexFunctions } from './regex-library.ts';
import { typeOfValue } from './standard-types.ts';
import { timeLibrary } from './time-library.ts';
import { durationOf, timestampOf } from './time-text.ts';
import {
  CelDuration,
  CelKeyedList,
  CelMap,
  CelObject,
  CelOpaque,
  CelTimestamp,
  CelUint,
  isList,
  type CelValue,
} from './values.ts';

/** Arithmetic on any two values; what does not fit together has no overload. */
type Arithmetic = (left: CelValue, right: CelValue) => CelValue;

const add: Arithmetic = (left, right) => {
  if (typeof left === 'bigint' && typeof right === 'bigint') return int64(left + right);
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  if (typeof left === 'number' && typeof right === 'number') return left + right;
  if (left instanceof CelUint && right instanceof CelUint) return uint64(left.value + right.value);
  if (typeof left === 'object' && typeof right === 'object' && left !== null && right !== null) {
    if (isList(left) && isList(right)) {
      if (left instanceof CelKeyedList) return mergeKeyed(left, right);
      return [...left, ...right];
    }
    if (left instanceof Uint8Array && right instanceof Uint8Array) return Buffer.concat([left, right]);
    if (left instanceof CelTimestamp && right instanceof CelDuration)
      return timestampOf(left.nanos + right.nanos, left.zone);
    if (left instanceof CelDuration && right instanceof CelTimestamp)
      return timestampOf(left.nanos + right.nanos, right.zone);
    if (left instanceof CelDuration && right instanceof CelDuration) return durationOf(left.nanos + right.nanos);
  }
  throw noSuchOverload();
};

const subtract: Arithmetic = (left, right) => {
  if (typeof left === 'bigint' && typeof right === 'bigint') return int64(left - right);
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  if (left instanceof CelUint && right instanceof CelUint) return uint64(left.value - right.value);
  if (left instanceof CelTimestamp && right instanceof CelTimestamp) return durationOf(left.nanos - right.nanos);
  if (left instanceof CelTimestamp && right instanceof CelDuration) {
    // cel-go negates the duration.
    durationOf(-right.nanos);
    return timestampOf(left.nanos - right.nanos, left.zone);
  }
  if (left instanceof CelDuration && right instanceof CelDuration) return durationOf(left.nanos - right.nanos);
  throw noSuchOverload();
};

const multiply: Arithmetic = (left, right) => {
  if (typeof left === 'bigint' && typeof right === 'bigint') return int64(left * right);
  if (typeof left === 'number' && typeof right === 'number') return left * right;
  if (left instanceof CelUint && right instanceof CelUint) return uint64(left.value * right.value);
  throw noSuchOverload();
};

const divide: Arithmetic = (left, right) => {
  if (typeof left === 'number' && typeof right === 'number') return left / right;
  const unsigned = left instanceof CelUint && right instanceof CelUint;
  if (!unsigned && (typeof left !== 'bigint' || typeof right !== 'bigint')) throw noSuchOverload();
  if (unsigned) {
    if (right.value === 0n) throw new CelError('division by zero');
    return uint64(left.value / right.value);
  }
  if (right === 0n) throw new CelError('division by zero');
  return int64((left as bigint) / (right as bigint));
};

const modulo: Arithmetic = (left, right) => {
  if (left instanceof CelUint && right instanceof CelUint) {
    if (right.value === 0n) throw new CelError('modulus by zero');
    return uint64(left.value % right.value);
  }
  if (typeof left !== 'bigint' || typeof right !== 'bigint') throw noSuchOverload();
  if (right === 0n) throw new CelError('modulus by zero');
  if (right === -1n) int64(-left);
  return left % right;
};

const compare =
  (test: (order: number) => boolean): Arithmetic =>
  (left, right) => {
    const order = Number.isNaN(left) ? Number.NaN : compareValues(left, right);
    if (order === undefined) throw noSuchOverload();
    if (Number.isNaN(order)) throw new CelError('NaN values cannot be ordered');
    return test(order);
  };
const less = compare((order) => order < 0);
const lessEquals = compare((order) => order <= 0);
const greater = compare((order) => order > 0);
const greaterEquals = compare((order) => order >= 0);

/** `a[i]`, and the field of a value by a key that is computed. */
export function indexValue(operand: CelValue, key: CelValue): CelValue {
  const found = lookup(operand, key);
  if (found !== undefined) return found;
  if (isList(operand)) throw new CelError(`index out of bounds: ${keyText(key)}`);
  throw new CelError(`no such key: ${keyText(key)}`);
}

/** The element of a list, entry of a map or field of an object. Undefined: not there, as in every value of another type. */
export function lookup(operand: CelValue, key: CelValue): CelValue | undefined {
  if (isList(operand)) {
    const index = key instanceof CelUint ? key.value : key;
    if (typeof index !== 'bigint' && !(typeof index === 'number' && Number.isInteger(index))) {
      throw new CelError(
        typeof key === 'number'
          ? `unsupported index value ${doubleText(key)} in list`
          : `unsupported index type '${keyKind(key)}' in list`,
      );
    }
    return operand[Number(index)];
  }
  if (operand instanceof CelMap) return operand.get(key);
  if (operand instanceof CelObject && typeof key === 'string') return operand.fields.get(key);
  return undefined;
}
const keyKind = (key: CelValue): string => typeOfValue(key).name;
/** A key as messages print it. */
export function keyText(key: CelValue): string {
  if (key instanceof CelUint) return String(key.value);
  if (typeof key === 'number') return doubleText(key);
  return typeof key === 'object' ? typeOfValue(key).name : String(key);
}

function contains(item: CelValue, container: CelValue): boolean {
  if (isList(container)) return container.some((candidate) => equal(candidate, item));
  if (container instanceof CelMap) return container.has(item);
  if (container instanceof CelObject && typeof item === 'string') return container.fields.get(item) !== undefined;
  throw noSuchOverload();
}

function size(value: CelValue): bigint {
  if (typeof value === 'string') return BigInt(runeCount(value));
  if (isList(value) || value instanceof Uint8Array) return BigInt(value.length);
  if (value instanceof CelMap) return BigInt(value.size);
  if (value instanceof CelObject) return BigInt(value.fields.size);
  throw noSuchOverload();
}

/** Values of libraries and of schemas are only compared with their like (their `Equal` in Kubernetes). */
const equals: CelFunction = (left, right) => {
  const particular = left instanceof CelOpaque || (left instanceof CelObject && left.fields.isMap);
  if (particular && right !== null && typeOfValue(left).name !== typeOfValue(right).name) throw noSuchOverload();
  return equal(left, right);
};

const ordered: readonly string[] = ['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'];
/** Overloads of an order relation: within a type, and among the types of numbers. */
function orderOverloads(name: string, id: string, apply: Arithmetic): Overload[] {
  const overloads = ordered.map((type) => declare(name, `${id}_${idOf(type)}`, `(${type}, ${type}) bool`, apply));
  const numbers = ['int', 'uint', 'double'];
  for (const left of numbers) {
    for (const right of numbers) {
      if (left !== right)
        overloads.push(declare(name, `${id}_${idOf(left)}_${idOf(right)}`, `(${left}, ${right}) bool`, apply));
    }
  }
  return overloads;
}

/** How cel-go names a type in the ids of overloads. */
const idOf = (type: string): string => (type === 'int' || type === 'uint' ? `${type}64` : type);
/** Ids name both operands only if one of them is a time. */
const arithmetic = (name: string, id: string, apply: Arithmetic, signatures: readonly string[]): Overload[] =>
  signatures.map((signature) => {
    const [left = '', right = ''] = signature.replaceAll(/\(A\)|[()]/g, '').split(/[, ]+/);
    const ofTimes = left === 'duration' || left === 'timestamp';
    return declare(name, `${id}_${ofTimes ? `${left}_${right}` : idOf(left)}`, signature, apply);
  });
const same = (...types: string[]): string[] => types.map((type) => `(${type}, ${type}) ${type}`);
/** Never called: the compiler does these itself. */
const special: CelFunction = () => {
  throw noSuchOverload();
};
const text =
  (apply: (target: string, arg: string) => CelValue): CelFunction =>
  (target, arg) =>
    apply(target as string, arg as string);

/** Operators and functions of the language itself (the language definition, "List of Standard Definitions"). */
export const standardLibrary: readonly Overload[] = [
  declare(operators.conditional, 'conditional', '(bool, A, A) A', special),
  declare(operators.and, 'logical_and', '(bool, bool) bool', special),
  declare(operators.or, 'logical_or', '(bool, bool) bool', special),
  declare(operators.not, 'logical_not', '(bool) bool', (value) => {
    if (typeof value !== 'boolean') throw noSuchOverload();
    return !value;
  }),
  declare(operators.notStrictlyFalse, 'not_strictly_false', '(bool) bool', special),
  declare(operators.equals, 'equals', '(A, A) bool', equals),
  declare(operators.notEquals, 'not_equals', '(A, A) bool', (left, right) => !equal(left, right)),
  ...arithmetic(operators.add, 'add', add, [
    ...same('bytes', 'double', 'duration'),
    '(duration, timestamp) timestamp',
    '(timestamp, duration) timestamp',
    ...same('int', 'list(A)', 'string', 'uint'),
  ]),
  ...arithmetic(operators.divide, 'divide', divide, same('double', 'int', 'uint')),
  ...arithmetic(operators.modulo, 'modulo', modulo, same('int', 'uint')),
  ...arithmetic(operators.multiply, 'multiply', multiply, same('double', 'int', 'uint')),
  ...arithmetic(operators.subtract, 'subtract', subtract, [
    ...same('double', 'duration', 'int'),
    '(timestamp, duration) timestamp',
    '(timestamp, timestamp) duration',
    ...same('uint'),
  ]),
  ...['double', 'int'].map((type) =>
    declare(operators.negate, `negate_${idOf(type)}`, `(${type}) ${type}`, (value) => {
      if (typeof value === 'bigint') return int64(-value);
      if (typeof value === 'number') return -value;
      throw noSuchOverload();
    }),
  ),
  ...orderOverloads(operators.less, 'less', less),
  ...orderOverloads(operators.lessEquals, 'less_equals', lessEquals),
  ...orderOverloads(operators.greater, 'greater', greater),
  ...orderOverloads(operators.greaterEquals, 'greater_equals', greaterEquals),
  declare(operators.index, 'index_list', '(list(A), int) A', indexValue),
  declare(operators.index, 'index_map', '(map(A, B), A) B', indexValue),
  declare(operators.index, 'optional_list_index', '(optional(list(A)), int) optional(A)', special),
  declare(operators.index, 'optional_map_index', '(optional(map(A, B)), A) optional(B)', special),
  declare(operators.in, 'in_list', '(A, list(A)) bool', contains),
  declare(operators.in, 'in_map', '(A, map(A, B)) bool', contains),
  ...['string', 'bytes', 'list(A)', 'map(A, B)'].flatMap((type) => {
    const id = type.replace(/\(.*/, '');
    return [
      declare('size', `size_${id}`, `(${type}) int`, size),
      declare('size', `${id}_size`, `${type}.() int`, size),
    ];
  }),
  declare(
    'contains',
    'contains_string',
    'string.(string) bool',
    text((a, b) => a.includes(b)),
  ),
  declare(
    'endsWith',
    'ends_with_string',
    'string.(string) bool',
    text((a, b) => a.endsWith(b)),
  ),
  declare(
    'startsWith',
    'starts_with_string',
    'string.(string) bool',
    text((a, b) => a.startsWith(b)),
  ),
  ...standardRegexFunctions,
  ...conversions,
  ...timeLibrary,
];
