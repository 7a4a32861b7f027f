import { randomUUID } from 'node:crypto';
import {
  fieldErrors,
  FieldPath,
  isJsonObject,
  Quantity,
  validateQualifiedName,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { builtInKind } from '../built-in-kind.ts';
import { defaultStrategy } from '../default-strategy.ts';
import { listAt, objectAt, textAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { quantitiesAt } from './quantities.ts';
import { allowsOvercommit, limitNameErrors } from './resource-names.ts';

const limitTypes = new Set(['Pod', 'Container', 'PersistentVolumeClaim']);
const one = Quantity.fromInteger(1);

/** Nothing here limits anything: pods are no built-in kind. PUT creates, a name is made up when none is given. */
export function limitRanges(): ResourceDefinition {
  return builtInKind({
    group: '',
    version: 'v1',
    kind: 'LimitRange',
    resource: 'limitranges',
    shortNames: ['limits'],
    namespaced: true,
    component: 'io.k8s.api.core.v1.LimitRange',
    defaults: (object) => {
      for (const limit of listAt(object, 'spec', 'limits')) {
        if (isJsonObject(limit) && textAt(limit, 'type') === 'Container') fillContainerDefaults(limit);
      }
    },
    strategy: defaultStrategy({
      metadataChecks: { standardFinalizers: true, onUpdate: ['object'] },
      allowCreateOnUpdate: true,
      prepareForCreate: (_context, object) => {
        const { metadata } = object;
        if ((metadata.name ?? '') === '' && (metadata.generateName ?? '') === '') metadata.name = randomUUID();
      },
      validate: (_context, object) => validateLimits(object),
      validateUpdate: (_context, object) => validateLimits(object),
    }),
  });
}

/** The default is the maximum; the default request is the default, else the minimum. */
function fillContainerDefaults(limit: JsonObject): void {
  const fill = (target: string, source: string): void => {
    const values = objectAt(limit, source) ?? {};
    if (Object.keys(values).length > 0) limit[target] = { ...values, ...objectAt(limit, target) };
  };
  fill('default', 'max');
  fill('defaultRequest', 'default');
  fill('defaultRequest', 'min');
}

function validateLimits(object: KubeObject): FieldError[] {
  const seen = new Set<string>();
  return listAt(object, 'spec', 'limits').flatMap((limit, index) => {
    const path = FieldPath.of('spec', 'limits').index(index);
    const type = textAt(limit, 'type');
    const errors = typeErrors(type, path.child('type'));
    if (seen.has(type)) errors.push(fieldErrors.duplicate(path.child('type'), type));
    seen.add(type);
    errors.push(...limitErrors(limit, type, path));
    return errors;
  });
}

function typeErrors(type: string, path: FieldPath): FieldError[] {
  const errors = validateQualifiedName(type).map((message) => fieldErrors.invalid(path, type, message));
  if (errors.length === 0 && !type.includes('/') && !limitTypes.has(type)) {
    errors.push(fieldErrors.invalid(path, type, 'must be a standard limit type or fully qualified'));
  }
  return errors;
}

const parts = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const;
type Part = (typeof parts)[number];
type Amounts = Readonly<Record<Part, ReadonlyMap<string, Quantity>>>;

function limitErrors(limit: Json, type: string, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  const amounts = {} as Record<Part, ReadonlyMap<string, Quantity>>;
  for (const part of parts) {
    amounts[part] = quantitiesAt(limit, part);
    if (part === 'maxLimitRequestRatio' && type === 'PersistentVolumeClaim') {
      if (!amounts.min.has('storage') && !amounts.max.has('storage')) {
        const why = 'either minimum or maximum storage value is required, but neither was provided';
        errors.push(fieldErrors.required(path.child('limits'), why));
      }
    }
    if (type === 'Pod' && (part === 'default' || part === 'defaultRequest')) {
      if (amounts[part].size > 0) {
        errors.push(fieldErrors.forbidden(path.child(part), "may not be specified when `type` is 'Pod'"));
      }
      amounts[part] = new Map();
      continue;
    }
    for (const name of amounts[part].keys()) {
      errors.push(...limitNameErrors(type, name, path.child(part).key(name)));
      names.add(name);
    }
  }
  for (const name of [...names].sort()) errors.push(...boundErrors(name, amounts, path));
  return errors;
}

/** Bounds and defaults of one resource must fit each other. */
function boundErrors(name: string, amounts: Amounts, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const [max, min, normal, request, ratio] = parts.map((part) => amounts[part].get(name));
  const above = (a: Quantity | undefined, b: Quantity | undefined): boolean =>
    a !== undefined && b !== undefined && a.compare(b) > 0;
  const wrong = (part: Part, value: Quantity | undefined, detail: string): void =>
    void errors.push(fieldErrors.invalid(path.child(part).key(name), String(value), detail));
  if (above(min, max)) wrong('min', min, `min value ${String(min)} is greater than max value ${String(max)}`);
  if (above(min, request)) {
    wrong(
      'defaultRequest',
      request,
      `min value ${String(min)} is greater than default request value ${String(request)}`,
    );
  }
  if (above(request, max)) {
    wrong(
      'defaultRequest',
      request,
      `default request value ${String(request)} is greater than max value ${String(max)}`,
    );
  }
  if (above(request, normal)) {
    wrong(
      'defaultRequest',
      request,
      `default request value ${String(request)} is greater than default limit value ${String(normal)}`,
    );
  }
  if (above(min, normal))
    wrong('default', min, `min value ${String(min)} is greater than default value ${String(normal)}`);
  if (above(normal, max))
    wrong('default', max, `default value ${String(normal)} is greater than max value ${String(max)}`);
  if (above(one, ratio)) wrong('maxLimitRequestRatio', ratio, `ratio ${String(ratio)} is less than 1`);
  if (ratio !== undefined && min !== undefined && max !== undefined) {
    const greatest = max.toNumber() / min.toNumber();
    if (ratio.toNumber() > greatest) {
      const text = Number.isFinite(greatest) ? greatest.toFixed(6) : Number.isNaN(greatest) ? 'NaN' : '+Inf';
      wrong('maxLimitRequestRatio', ratio, `ratio ${String(ratio)} is greater than max/min = ${text}`);
    }
  }
  if (normal !== undefined && request !== undefined && !allowsOvercommit(name) && normal.compare(request) !== 0) {
    wrong(
      'defaultRequest',
      request,
      `default value ${String(normal)} must equal to defaultRequest value ${String(request)} in ${name}`,
    );
  }
  return errors;
}
