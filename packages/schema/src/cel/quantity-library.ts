import { Quantity, QuantityError } from '@multiplane/apimachinery';
import { CelError } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { opaqueType } from './types.ts';
import { CelOpaque, type CelValue } from './values.ts';

const quantityType = opaqueType('kubernetes.Quantity');
const nano = 10n ** 9n;

class CelQuantity extends CelOpaque {
  override readonly type = quantityType;
  readonly quantity: Quantity;
  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelQuantity && other.quantity.compare(this.quantity) === 0;
  }
  get isInteger(): boolean {
    const amount = this.quantity.nanos / nano;
    return this.quantity.nanos % nano === 0n && amount < 2n ** 63n && amount >= -(2n ** 63n);
  }
}

function parse(text: string): CelQuantity {
  try {
    return new CelQuantity(Quantity.parse(text));
  } catch (error) {
    if (error instanceof QuantityError) throw new CelError(error.message, { cause: error });
    throw error;
  }
}
function parses(text: string): boolean {
  try {
    Quantity.parse(text);
    return true;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

const amount = (value: CelValue | undefined): Quantity => (value as CelQuantity).quantity;
const read = (name: string, id: string, result: string, apply: (value: CelQuantity) => CelValue): Overload =>
  declare(name, id, `kubernetes.Quantity.() ${result}`, (value) => apply(value as CelQuantity));
const pair = (name: string, id: string, result: string, apply: (a: Quantity, b: Quantity) => CelValue): Overload =>
  declare(name, id, `kubernetes.Quantity.(kubernetes.Quantity) ${result}`, (a, b) => apply(amount(a), amount(b)));
const withInt = (name: string, id: string, apply: (a: Quantity, b: Quantity) => Quantity): Overload =>
  declare(
    name,
    id,
    'kubernetes.Quantity.(int) kubernetes.Quantity',
    (a, b) => new CelQuantity(apply(amount(a), Quantity.fromInteger(b as bigint))),
  );
const add = (a: Quantity, b: Quantity): Quantity => a.add(b);
const sub = (a: Quantity, b: Quantity): Quantity => a.subtract(b);

/** Kubernetes' functions of quantities. */
export const quantityLibrary: readonly Overload[] = [
  declare('quantity', 'string_to_quantity', '(string) kubernetes.Quantity', (text) => parse(text as string)),
  declare('isQuantity', 'is_quantity_string', '(string) bool', (text) => parses(text as string)),
  declare('sign', 'quantity_sign', '(kubernetes.Quantity) int', (value) =>
    BigInt(amount(value).compare(Quantity.zero)),
  ),
  read('sign', 'quantity_sign_member', 'int', (value) => BigInt(value.quantity.compare(Quantity.zero))),
  pair('isGreaterThan', 'quantity_is_greater_than', 'bool', (a, b) => a.compare(b) > 0),
  pair('isLessThan', 'quantity_is_less_than', 'bool', (a, b) => a.compare(b) < 0),
  pair('compareTo', 'quantity_compare_to', 'int', (a, b) => BigInt(a.compare(b))),
  read('asApproximateFloat', 'quantity_get_float', 'double', (value) => Number(value.quantity.nanos) / 1e9),
  read('asInteger', 'quantity_get_int', 'int', (value) => {
    if (!value.isInteger) throw new CelError('cannot convert value to integer');
    return value.quantity.nanos / nano;
  }),
  read('isInteger', 'quantity_is_integer', 'bool', (value) => value.isInteger),
  pair('add', 'quantity_add', 'kubernetes.Quantity', (a, b) => new CelQuantity(add(a, b))),
  withInt('add', 'quantity_add_int', add),
  pair('sub', 'quantity_sub', 'kubernetes.Quantity', (a, b) => new CelQuantity(sub(a, b))),
  withInt('sub', 'quantity_sub_int', sub),
];
