import { plainlyCounted } from '../core/resource-names.ts';
import { one } from './amounts.ts';
import type { QuotaEvaluator } from './quota-evaluator.ts';

/** The name that counts all objects of a resource, whatever their state. */
export const objectCountName = (group: string, resource: string): string =>
  group === '' ? `count/${resource}` : `count/${resource}.${group}`;

/** Counts objects; a quota with scopes counts none. */
export function objectCountEvaluator(group: string, resource: string): QuotaEvaluator {
  const count = objectCountName(group, resource);
  const names = group === '' && plainlyCounted.has(resource) ? [count, resource] : [count];
  const amounts = new Map(names.map((name) => [name, one]));
  return {
    readsContent: false,
    handles: ({ operation, subresource }) => operation === 'CREATE' && subresource === '',
    counts: (name) => names.includes(name),
    matches: () => false,
    usage: () => amounts,
  };
}
