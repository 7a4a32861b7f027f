import {
  fieldErrors,
  FieldPath,
  type DeepReadonly,
  type FieldError,
  type KubeObject,
  type Quantity,
} from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy, keepField, statusSubresource } from '../default-strategy.ts';
import { textsAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { column, nameAgeTable } from '../tables/columns.ts';
import { quantitiesAt } from './quantities.ts';
import { quotaScopeErrors } from './quota-scopes.ts';
import { isIntegerName, quotaNameErrors } from './resource-names.ts';

/** What is used is written through `status`. */
export function resourceQuotas(): ResourceDefinition {
  const base = defaultStrategy({
    returnsDeletedObject: true,
    metadataChecks: { standardFinalizers: true, onUpdate: ['update'] },
  });
  return builtInKind({
    group: '',
    version: 'v1',
    kind: 'ResourceQuota',
    resource: 'resourcequotas',
    shortNames: ['quota'],
    namespaced: true,
    component: 'io.k8s.api.core.v1.ResourceQuota',
    strategy: {
      ...base,
      prepareForCreate: (_context, object) => void (object['status'] = {}),
      validate: (_context, object) => specErrors(object),
      prepareForUpdate: (_context, object, old) => keepField(object, old, 'status'),
      validateUpdate: (_context, object, old) => [...specErrors(object), ...scopeChanges(object, old)],
      warnings: (_context, object) => requestsAboveLimits(object),
    },
    subresources: {
      status: statusSubresource(base, {
        prepareForUpdate: (_context, object, old) => keepField(object, old, 'spec'),
        validateUpdate: (_context, object) => [
          ...amountErrors(object, 'status', 'hard'),
          ...amountErrors(object, 'status', 'used'),
        ],
      }),
    },
    table: nameAgeTable(
      [
        column('Request', { description: 'What is used of the limits for requests and counts.' }),
        column('Limit', { description: 'What is used of the limits for limits.' }),
      ],
      usageCells,
    ),
  });
}

const specErrors = (object: KubeObject): FieldError[] => [
  ...amountErrors(object, 'spec', 'hard'),
  ...quotaScopeErrors(object, FieldPath.of('spec')),
];

function amountErrors(object: KubeObject, part: string, field: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [name, amount] of quantitiesAt(object, part, field)) {
    const path = FieldPath.of(part, field).key(name);
    const text = amount.toString();
    errors.push(...quotaNameErrors(name, path));
    if (amount.sign < 0) errors.push(fieldErrors.invalid(path, text, 'must be greater than or equal to 0'));
    if (isIntegerName(name) && !amount.isInteger) errors.push(fieldErrors.invalid(path, text, 'must be an integer'));
  }
  return errors;
}

function scopeChanges(object: KubeObject, old: DeepReadonly<KubeObject>): FieldError[] {
  const now = textsAt(object, 'spec', 'scopes');
  const before = new Set(textsAt(old, 'spec', 'scopes'));
  const same = new Set(now).size === before.size && now.every((scope) => before.has(scope));
  return same ? [] : [fieldErrors.invalid('spec.scopes', now, 'field is immutable')];
}

function requestsAboveLimits(object: KubeObject): string[] {
  const hard = quantitiesAt(object, 'spec', 'hard');
  return ['cpu', 'memory', 'ephemeral-storage'].flatMap((name) => {
    const request = hard.get(`requests.${name}`);
    const limit = hard.get(`limits.${name}`);
    return request !== undefined && limit !== undefined && request.compare(limit) > 0
      ? [
          `ResourceQuota requests.${name} (${request.toString()}) should be less than limits.${name} (${limit.toString()})`,
        ]
      : [];
  });
}

function usageCells(object: DeepReadonly<KubeObject>): string[] {
  const used = quantitiesAt(object, 'status', 'used');
  const show = ([name, hard]: readonly [string, Quantity]): string =>
    `${name}: ${used.get(name)?.toString() ?? '0'}/${hard.toString()}`;
  const all = [...quantitiesAt(object, 'status', 'hard')];
  const isLimit = ([name]: readonly [string, Quantity]): boolean => name.startsWith('limits.');
  return [
    all
      .filter((entry) => !isLimit(entry))
      .map(show)
      .join(', '),
    all.filter(isLimit).map(show).join(', '),
  ];
}
