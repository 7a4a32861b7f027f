import { expect, test } from '@jest/globals';
import type { JsonObject } from '@multiplane/apimachinery';
import { type ResourceDefinition, builtInResources, resolveComponent } from '@multiplane/apis';
import { goldenOperations, goldenParts } from '../../test/golden-openapi.data.ts';
import { DocumentBuilder } from './document-builder.ts';

/*
 * Compares operations with Kubernetes' own documents: paths, names, actions, kinds, parameters, bodies and responses.
 * Their schemas are generated from the same documents (hack/import-openapi.mjs).
 */

interface Operation {
  readonly operationId: string;
  readonly 'x-kubernetes-action': string;
  readonly 'x-kubernetes-group-version-kind': JsonObject;
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Record<string, { readonly content?: Content }>;
}
type Content = Record<string, { readonly schema: { readonly $ref?: string } }>;
type PathItem = Record<string, Operation> & { readonly parameters?: readonly { readonly name: string }[] };

const typesOf = (content: Content = {}): string =>
  Object.keys(content)
    .map((type) => type.replace('application/', ''))
    .sort()
    .join(',');
const refsOf = (content: Content = {}): string =>
  [...new Set(Object.values(content).map(({ schema }) => schema.$ref?.split('/').at(-1) ?? ''))].join('+');

function linesOf(path: string, { parameters: shared = [], ...operations }: PathItem): string[] {
  return Object.entries(operations).map(([method, operation]) => {
    const { group, version, kind } = operation['x-kubernetes-group-version-kind'];
    const names = [...shared, ...(operation.parameters ?? [])].map(({ name }) => name).sort();
    const answers = Object.entries(operation.responses).map(([code, { content }]) => `${code}:${refsOf(content)}`);
    const { content } = operation.requestBody ?? {};
    return [
      `${method} ${path} ${operation.operationId}`,
      operation['x-kubernetes-action'],
      `${group as string}/${version as string}/${kind as string}`,
      names.join(','),
      `${typesOf(content)} ${refsOf(content)}`.trim(),
      answers.join(','),
      typesOf(operation.responses['200']?.content),
    ].join(' | ');
  });
}

test('operations of built-in kinds equal those of Kubernetes', async () => {
  const builder = new DocumentBuilder(
    {},
    {
      definitions: { resolve: resolveComponent, version: 'v1.36.0' },
    },
  );
  const groups = new Map<string, ResourceDefinition[]>();
  for (const definition of builtInResources()) {
    if (definition.origin !== 'built-in') continue;
    const key = `${definition.group}/${definition.version}`;
    groups.set(key, [...(groups.get(key) ?? []), definition]);
  }
  const ours: string[] = [];
  for (const definitions of groups.values()) {
    const document = JSON.parse((await builder.v3(definitions)).toString()) as { paths: Record<string, PathItem> };
    for (const [path, item] of Object.entries(document.paths))
      if (!path.endsWith('/')) ours.push(...linesOf(path, item));
  }
  const golden = goldenOperations.map((line) => {
    const [method, path, id, ...parts] = line.split(' ') as [string, string, string, ...string[]];
    return [`${method} ${path} ${id}`, ...parts.map((index) => goldenParts[Number(index)])].join(' | ');
  });
  expect(ours.sort()).toEqual(golden.sort());
});
