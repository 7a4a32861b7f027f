import { Quantity, QuantityError } from '@multiplane/apimachinery';
import { CelError } from './cel-error.ts';
import { declare, type Overload } from './function-declaration.ts';
import { addSmall, integerOf, negated, smallAmountOf, type SmallAmount } from './quantity-amount.ts';
import { opaqueType } from './types.ts';
import { CelOpaque, type CelValue } from './values.ts';

const quantityType = opaqueType('kubernetes.Quantity');

class CelQuantity extends CelOpaque {
  override readonly type = quantityType;
  readonly quantity: Quantity;
  readonly small: SmallAmount;
  constructor(quantity: Quantity, small: SmallAmount) {
    super();
    this.quantity = quantity;
    this.small = small;
  }
  override equals(other: CelOpaque): boolean {
    return other instanceof CelQuantity && other.quantity.compare(this.quantity) === 0;
  }
  add(other: CelQuantity): CelQuantity {
    return new CelQuantity(this.quantity.add(other.quantity), addSmall(this.small, other.small));
  }
  subtract(other: CelQuantity): CelQuantity {
    return new CelQuantity(this.quantity.subtract(other.quantity), addSmall(this.small, negated(other.small)));
  }
}

function parse(text: string): CelQuantity {
  try {
    return new CelQuantity(Quantity.parse(text), smallAmountOf(text));
  } catch (error) {
    if (error instanceof QuantityError) throw new CelError(error.message, { cause: error });
    throw error;
  }
}
const ofInteger = (value: bigint): CelQuantity => new CelQuantity(Quantity.fromInteger(value), { value, scale: 0 });

/** Go rounds the product with a power of ten. */
const approximate = ({ quantity, small }: CelQuantity): number =>
  small === undefined ? Number(quantity.nanos) * 1e-9 : Number(small.value) * 10 ** small.scale;

function parses(text: string): boolean {
  try {
    Quantity.parse(text);
    return true;
  } catch (error) {
    if (error instanceof QuantityError) return false;
    throw error;
  }
}

const read = (name: string, id: string, result: string, apply: (value: CelQuantity) => CelValue): Overload =>
  declare(name, id, `kubernetes.Quantity.() ${result}`, (value) => apply(value as CelQuantity));
const pair = (
  name: string,
  id: string,
  result: string,
  apply: (a: CelQuantity, b: CelQuantity) => CelValue,
): Overload =>
  declare(name, id, `kubernetes.Quantity.(kubernetes.Quantity) ${result}`, (a, b) =>
    apply(a as CelQuantity, b as CelQuantity),
  );
const withInt = (name: string, id: string, apply: (a: CelQuantity, b: CelQuantity) => CelQuantity): Overload =>
  declare(name, id, 'kubernetes.Quantity.(int) kubernetes.Quantity', (a, b) =>
    apply(a as CelQuantity, ofInteger(b as bigint)),
  );
const compare = (a: CelQuantity, b: CelQuantity): number => a.quantity.compare(b.quantity);
const add = (a: CelQuantity, b: CelQuantity): CelQuantity => a.add(b);
const sub = (a: CelQuantity, b: CelQuantity): CelQuantity => a.subtract(b);

/** Kubernetes' functions of quantities. */
export const quantityLibrary: readonly Overload[] = [
  declare('quantity', 'string_to_quantity', '(string) kubernetes.Quantity', (text) => parse(text as string)),
  declare('isQuantity', 'is_quantity_string', '(string) bool', (text) => parses(text as string)),
  declare('sign', 'quantity_sign', '(kubernetes.Quantity) int', (value) =>
    BigInt((value as CelQuantity).quantity.compare(Quantity.zero)),
  ),
  read('sign', 'quantity_sign_member', 'int', (value) => BigInt(value.quantity.compare(Quantity.zero))),
  pair('isGreaterThan', 'quantity_is_greater_than', 'bool', (a, b) => compare(a, b) > 0),
  pair('isLessThan', 'quantity_is_less_than', 'bool', (a, b) => compare(a, b) < 0),
  pair('compareTo', 'quantity_compare_to', 'int', (a, b) => BigInt(compare(a, b))),
  read('asApproximateFloat', 'quantity_get_float', 'double', approximate),
  read('asInteger', 'quantity_get_int', 'int', (value) => {
    const integer = integerOf(value.small);
    if (integer === undefined) throw new CelError('cannot convert value to integer');
    return integer;
  }),
  read('isInteger', 'quantity_is_integer', 'bool', (value) => integerOf(value.small) !== undefined),
  pair('add', 'quantity_add', 'kubernetes.Quantity', add),
  withInt('add', 'quantity_add_int', add),
  pair('sub', 'quantity_sub', 'kubernetes.Quantity', sub),
  withInt('sub', 'quantity_sub_int', sub),
];
