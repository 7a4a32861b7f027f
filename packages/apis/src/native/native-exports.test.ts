import { describe, expect, test } from '@jest/globals';
import { structuralProblem } from '@multiplane/schema';
import { VersionConversions } from '../apiextensions/version-conversions.ts';
import { apiResourceSchemaErrors } from '../kcp/api-resource-schema-rules.ts';
import { nativeExportNames, nativeExports } from './native-exports.ts';

const all = [...nativeExports()];
const schemas = all.flatMap((each) => each.schemas);
const schemaOf = (plural: string, version = 0): Record<string, unknown> =>
  schemas.find(({ spec }) => spec?.names.plural === plural)?.spec?.versions[version]?.schema as Record<string, unknown>;
/** The schema of a field, by its path. */
const field = (plural: string, path: string): Record<string, unknown> =>
  path
    .split('.')
    .reduce<Record<string, unknown>>(
      (place, name) =>
        (name === '[]' ? place['items'] : (place['properties'] as Record<string, unknown>)[name]) as Record<
          string,
          unknown
        >,
      schemaOf(plural),
    );

describe("exports of Kubernetes' own kinds", () => {
  test('there is one for each API group, and they have no kind that a workspace has by itself', () => {
    expect(all.map((each) => each.export.metadata.name)).toEqual([...nativeExportNames]);
    const plurals = schemas.map(({ spec }) => spec?.names.plural);
    expect(plurals).toEqual(expect.arrayContaining(['pods', 'services', 'deployments', 'jobs', 'ingresses']));
    expect(plurals).not.toEqual(expect.arrayContaining(['configmaps', 'secrets', 'namespaces']));
  });

  test.each(schemas.map((schema) => [schema.metadata.name as string, schema] as const))(
    '%s is a valid schema that is never changed',
    (name, schema) => {
      expect(apiResourceSchemaErrors(schema, undefined)).toEqual([]);
      for (const { schema: version } of schema.spec?.versions ?? [])
        expect(structuralProblem(version as never)).toBeUndefined();
      expect([...nativeExports()].flatMap((each) => each.schemas).map(({ metadata }) => metadata.name)).toContain(name);
    },
  );

  test('fields have the types, requirements and defaults of Kubernetes', () => {
    const container = 'spec.template.spec.containers.[]';
    expect(field('deployments', 'spec')['required']).toEqual(['selector', 'template']);
    expect(field('deployments', container)['required']).toEqual(['name']);
    expect(field('deployments', `${container}.ports.[]`)['required']).toEqual(['containerPort']);
    expect(field('deployments', `${container}.ports.[].protocol`)).toEqual({ type: 'string', default: 'TCP' });
    expect(field('deployments', `${container}.livenessProbe.httpGet.port`)).toMatchObject({
      'x-kubernetes-int-or-string': true,
    });
    expect(field('deployments', `${container}.resources.limits`)).toMatchObject({
      type: 'object',
      additionalProperties: { 'x-kubernetes-int-or-string': true },
    });
    expect(field('deployments', 'spec.template.metadata.creationTimestamp')).toEqual({
      type: 'string',
      format: 'date-time',
      nullable: true,
    });
    // It is an object of its own elsewhere.
    expect(field('statefulsets', 'spec.volumeClaimTemplates.[].kind')).toEqual({ type: 'string' });
    expect(field('deployments', 'metadata')).toEqual({ type: 'object' });
  });

  test('autoscaling/v1 and v2 are converted without a loss', () => {
    const [conversion] = all.flatMap((each) => each.conversions);
    const versions = { v2: schemaOf('horizontalpodautoscalers'), v1: schemaOf('horizontalpodautoscalers', 1) };
    const conversions = new VersionConversions(
      conversion?.spec?.conversions ?? [],
      (version) => versions[version as 'v1' | 'v2'] as never,
    );
    expect(conversions.problems).toEqual([]);
    const cpu = (value: number): object => ({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: value } },
    });
    const memory = {
      type: 'Resource',
      resource: { name: 'memory', target: { type: 'AverageValue', averageValue: '1G' } },
    };
    const object = {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web' },
      spec: { maxReplicas: 3, behavior: { scaleDown: { tolerance: 1 } }, metrics: [cpu(50), memory] },
    };
    conversions.convert(object, 'v2', 'v1');
    expect(object.spec).toMatchObject({ targetCPUUtilizationPercentage: 50, maxReplicas: 3 });
    Object.assign(object.spec, { targetCPUUtilizationPercentage: 60 });
    conversions.convert(object, 'v1', 'v2');
    expect(object.spec.metrics).toEqual([cpu(60), memory]);
    expect(object.spec.behavior).toEqual({ scaleDown: { tolerance: 1 } });
  });
});
