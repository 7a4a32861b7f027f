import { expect, test } from '@jest/globals';
import {
  asJson,
  deepCopy,
  fieldErrorText,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { ResourceDefinition, StrategyContext } from '../resource-definition.ts';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from './default-flow-control.ts';
import { flowSchemas, priorityLevelConfigurations } from './flow-control.ts';
import { foundErrors } from '../../test/found-errors.ts';

const context: StrategyContext = {
  user: { name: 'system', uid: '', groups: [], extra: {} },
  cluster: 'root' as LogicalClusterName,
  namespace: '',
  now: () => new Date(0),
  dryRun: false,
  warn: () => undefined,
};

const cases: [string, ResourceDefinition, KubeObject][] = [
  ...bootstrapFlowSchemas().map((object): [string, ResourceDefinition, KubeObject] => [
    `flow schema ${object.metadata.name}`,
    flowSchemas(),
    object,
  ]),
  ...bootstrapPriorityLevels().map((object): [string, ResourceDefinition, KubeObject] => [
    `priority level ${object.metadata.name}`,
    priorityLevelConfigurations(),
    object,
  ]),
];

test.each(cases)('the %s is complete and sound', (_name, { schema, strategy }, object) => {
  const stored = deepCopy<JsonObject>(asJson(object));
  schema.decodeTyped(stored);
  expect(schema.prune(stored).unknownFields).toEqual([]);
  schema.applyDefaults(stored);
  expect(stored).toEqual({ ...object, status: {} });
  expect(foundErrors(strategy.validate(context, object)).map(fieldErrorText)).toEqual([]);
});

test('every schema leads to a level that exists', () => {
  const levels = new Set(bootstrapPriorityLevels().map(({ metadata }) => metadata.name));
  const wanted = bootstrapFlowSchemas().map(
    ({ spec }) => ((spec as JsonObject)['priorityLevelConfiguration'] as JsonObject)['name'],
  );
  expect(wanted.filter((level) => !levels.has(level as string))).toEqual([]);
});
