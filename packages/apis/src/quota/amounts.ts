import { Quantity, QuantityError, type DeepReadonly, type Json, type KubeObject } from '@multiplane/apimachinery';
import { entriesAt } from '../fields.ts';
import type { QuotaAmounts } from './quota-evaluator.ts';

/** Amounts that are still being computed. */
export type MutableAmounts = Map<string, Quantity>;

export const one = Quantity.fromInteger(1);

/** A resource list. Texts that are no quantities are left out: the kind may be defined by a tenant, with any schema. */
export function amountsAt(
  source: DeepReadonly<KubeObject> | Json | undefined,
  ...path: readonly string[]
): MutableAmounts {
  const amounts: MutableAmounts = new Map();
  for (const [name, text] of entriesAt(source, ...path)) {
    const amount = quantityOf(text);
    if (amount !== undefined) amounts.set(name, amount);
  }
  return amounts;
}

function quantityOf(value: Json): Quantity | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') return undefined;
  try {
    return Quantity.parse(value);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

export function addAmounts(to: MutableAmounts, more: QuotaAmounts): void {
  for (const [name, amount] of more) to.set(name, to.get(name)?.add(amount) ?? amount);
}

/** Each name with the greater of the two amounts. */
export function raiseAmounts(to: MutableAmounts, other: QuotaAmounts): void {
  for (const [name, amount] of other) {
    const known = to.get(name);
    if (known === undefined || known.compare(amount) < 0) to.set(name, amount);
  }
}
