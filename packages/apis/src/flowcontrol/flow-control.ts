import {
  deepEqual,
  fieldErrors,
  FieldPath,
  isJsonObject,
  type FieldError,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { builtInKind, type BuiltInKind } from '../built-in-kind.ts';
import { defaultStrategy, keepField, statusSubresource } from '../default-strategy.ts';
import { at, listAt, numberAt, objectAt, textAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { ageColumn, ageOf, column, nameAgeTable, nameColumn } from '../tables/columns.ts';
import { defaultFlowSchemas, defaultPriorityLevels, flowControlGroup } from './default-flow-control.data.ts';
import { flowSchemaErrors } from './flow-schema-validation.ts';
import { priorityLevelErrors } from './priority-level-validation.ts';

const defaultPrecedence = 1000;

export function flowSchemas(): ResourceDefinition {
  return flowControlKind('FlowSchema', 'flowschemas', {
    defaults: (object) => {
      const spec = objectAt(object, 'spec');
      if (spec !== undefined && (numberAt(spec, 'matchingPrecedence') ?? 0) === 0) {
        spec['matchingPrecedence'] = defaultPrecedence;
      }
    },
    validate: (object) => [...flowSchemaErrors(object), ...fixedSchemaErrors(object), ...conditionErrors(object)],
    table: {
      columns: [
        nameColumn,
        column('PriorityLevel', { description: 'The priority level of matching requests.' }),
        column('MatchingPrecedence', { description: 'Schemas with lower numbers are asked first.' }),
        column('DistinguisherMethod', { description: 'How flows are distinguished.' }),
        ageColumn,
        column('MissingPL', { description: 'True when the priority level does not exist.' }),
      ],
      cells: (object, now) => {
        const dangling = listAt(object, 'status', 'conditions').find(
          (condition) => textAt(condition, 'type') === 'Dangling',
        );
        return [
          object.metadata.name ?? '',
          textAt(object, 'spec', 'priorityLevelConfiguration', 'name'),
          numberAt(object, 'spec', 'matchingPrecedence') ?? 0,
          textAt(object, 'spec', 'distinguisherMethod', 'type') || '<none>',
          ageOf(object, now),
          dangling === undefined ? '?' : textAt(dangling, 'status'),
        ];
      },
    },
  });
}

export function priorityLevelConfigurations(): ResourceDefinition {
  return flowControlKind('PriorityLevelConfiguration', 'prioritylevelconfigurations', {
    defaults: fillLevelDefaults,
    validate: (object) => [...priorityLevelErrors(object), ...fixedLevelErrors(object), ...conditionErrors(object)],
    table: nameAgeTable(
      [
        column('Type', { description: 'Limited or Exempt.' }),
        column('NominalConcurrencyShares', { description: 'Share of the capacity of the server.' }),
        column('Queues', { description: 'Number of queues.' }),
        column('HandSize', { description: 'Queues that one flow may use.' }),
        column('QueueLengthLimit', { description: 'Requests that fit into a queue.' }),
      ],
      (object) => {
        const queuing = objectAt(object, 'spec', 'limited', 'limitResponse', 'queuing');
        return [
          textAt(object, 'spec', 'type'),
          numberAt(object, 'spec', 'limited', 'nominalConcurrencyShares') ?? '<none>',
          ...['queues', 'handSize', 'queueLengthLimit'].map((field) => numberAt(queuing, field) ?? '<none>'),
        ];
      },
    ),
  });
}

interface FlowControlKind extends Pick<BuiltInKind, 'defaults' | 'table'> {
  readonly validate: (object: KubeObject) => FieldError[];
}

function flowControlKind(kind: string, resource: string, own: FlowControlKind): ResourceDefinition {
  const base = defaultStrategy({
    managesGeneration: true,
    metadataChecks: { standardFinalizers: true, onUpdate: ['object'] },
    validate: (_context, object) => own.validate(object),
    validateUpdate: (_context, object) => own.validate(object),
  });
  return builtInKind({
    group: flowControlGroup,
    version: 'v1',
    kind,
    resource,
    namespaced: false,
    component: `io.k8s.api.flowcontrol.v1.${kind}`,
    ...(own.defaults === undefined ? {} : { defaults: own.defaults }),
    ...(own.table === undefined ? {} : { table: own.table }),
    strategy: {
      ...base,
      prepareForCreate: (_context, object) => void (object['status'] = {}),
      prepareForUpdate: (_context, object, old) => keepField(object, old, 'status'),
    },
    subresources: {
      status: statusSubresource(base),
    },
  });
}

function fillLevelDefaults(object: KubeObject): void {
  const limited = objectAt(object, 'spec', 'limited');
  if (limited !== undefined) {
    limited['nominalConcurrencyShares'] ??= 30;
    limited['lendablePercent'] ??= 0;
    const queuing = objectAt(limited, 'limitResponse', 'queuing');
    for (const [field, value] of [
      ['handSize', 8],
      ['queues', 64],
      ['queueLengthLimit', 50],
    ] as const) {
      if (queuing !== undefined && (numberAt(queuing, field) ?? 0) === 0) queuing[field] = value;
    }
  }
  const exempt = objectAt(object, 'spec', 'exempt');
  if (exempt !== undefined) {
    exempt['nominalConcurrencyShares'] ??= 0;
    exempt['lendablePercent'] ??= 0;
  }
}

function fixedSchemaErrors(object: KubeObject): FieldError[] {
  const fixed = defaultFlowSchemas.find(({ name, mandatory }) => mandatory && name === object.metadata.name);
  if (fixed === undefined || deepEqual(at(object, 'spec'), fixed.spec)) return [];
  return [
    fieldErrors.invalid('spec', inside(at(object, 'spec')), `spec of '${fixed.name}' must equal the fixed value`),
  ];
}

/** Of the level `exempt` the numbers may be changed. */
function fixedLevelErrors(object: KubeObject): FieldError[] {
  const fixed = defaultPriorityLevels.find(({ name, mandatory }) => mandatory && name === object.metadata.name);
  if (fixed === undefined) return [];
  const isExempt = fixed.name === 'exempt';
  const compared = (spec: Json | undefined): JsonObject => {
    const copy = isJsonObject(spec) ? { ...spec } : {};
    if (isExempt) delete copy['exempt'];
    return copy;
  };
  if (deepEqual(compared(at(object, 'spec')), compared(fixed.spec))) return [];
  const rest = isExempt ? ` except the 'spec.exempt' field` : '';
  const value = { Type: null, Limited: null, Exempt: null, ...(inside(at(object, 'spec')) as JsonObject) };
  return [fieldErrors.invalid('spec', value, `spec of '${fixed.name}'${rest} must equal the fixed value`)];
}

/** Messages show structures with the Go field names of Kubernetes' internal version. */
function inside(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(inside);
  if (!isJsonObject(value)) return value ?? null;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [`${key.charAt(0).toUpperCase()}${key.slice(1)}`, inside(field)]),
  );
}

function conditionErrors(object: KubeObject): FieldError[] {
  const path = FieldPath.of('status', 'conditions');
  const seen = new Set<string>();
  return listAt(object, 'status', 'conditions').flatMap((condition, index) => {
    const type = textAt(condition, 'type');
    const where = path.index(index).child('type');
    if (type === '') return [fieldErrors.required(where)];
    const twice = seen.has(type);
    seen.add(type);
    return twice ? [fieldErrors.duplicate(where, type)] : [];
  });
}
