import type { Step } from '../../../e2e/conformance/scenario.ts';
import { collectionPath, kinds, objectName, objectOf } from '../kinds.ts';
import type { Body, Kind } from '../grammar.ts';
import { mutated, mutationCount, requestBody } from '../mutations.ts';
import { hasNumberText, jsonText, oddString, oddValue } from '../odd-values.ts';
import type { Random } from '../random.ts';
import { createNamespace, type Topic } from '../topic.ts';

const mediaTypes = [
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/json-patch+json',
  'application/apply-patch+yaml',
] as const;
type MediaType = (typeof mediaTypes)[number];

/** A JSON pointer: a member of the object, one below it, or none that exists. */
function pointer(random: Random, object: Body): string {
  const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');
  let path = '';
  let value: unknown = object;
  while (typeof value === 'object' && value !== null && random.chance(0.75)) {
    const keys = Object.keys(value);
    const key =
      keys.length === 0 || random.chance(0.12) ? random.pick(['x', '-', '0', '7', '', '~1', 'ü']) : random.pick(keys);
    path += `/${escaped(key)}`;
    value = (value as Body)[key];
  }
  return random.chance(0.03) ? random.pick(['x', '/', '', 'a/b', '/~2']) : path;
}

function jsonPatch(random: Random, object: Body): unknown {
  const operations = random.list(3, () => ({
    op: random.weighted([
      [4, 'add'],
      [4, 'replace'],
      [3, 'remove'],
      [2, 'test'],
      [1, 'move'],
      [1, 'copy'],
      [0.3, 'delete'],
    ]),
    path: pointer(random, object),
    ...random.optional(0.85, { value: () => (random.chance(0.5) ? oddString(random) : oddValue(random)) }),
    ...random.optional(0.3, { from: () => pointer(random, object) }),
  }));
  return random.chance(0.06) ? mutated(random, operations, 1) : operations;
}

const directives = (random: Random): Body =>
  random.pick<Body>([
    { $patch: 'delete' },
    { $patch: 'replace' },
    { $patch: 'x' },
    { metadata: { '$deleteFromPrimitiveList/finalizers': ['example.com/a'] } },
    { metadata: { '$setElementOrder/finalizers': ['example.com/b', 'example.com/a'] } },
    { metadata: { labels: { $patch: 'replace', b: 'c' } } },
    { data: { $retainKeys: ['a'] } },
    { data: { $patch: 'delete' } },
    { metadata: { ownerReferences: [{ $patch: 'delete', uid: '12345678-1234-1234-1234-123456789abc' }] } },
    { webhooks: [{ $patch: 'delete', name: 'a.example.com' }] },
    { subjects: [{ kind: 'User', name: 'u', apiGroup: 'rbac.authorization.k8s.io' }] },
  ]);

function mergePatch(random: Random, kind: Kind, name: string, isStrategic: boolean): unknown {
  const { metadata, ...content } = objectOf(random, kind, name);
  const patch: Body = mutated(random, content, mutationCount(random));
  if (!random.chance(0.15)) delete patch['apiVersion'];
  if (!random.chance(0.15)) delete patch['kind'];
  if (random.chance(0.4)) patch['metadata'] = mutated(random, metadata, mutationCount(random));
  return isStrategic && random.chance(0.4) ? { ...patch, ...directives(random) } : patch;
}

function patchBody(random: Random, mediaType: MediaType, kind: Kind, name: string): Partial<Step> {
  if (random.chance(0.05))
    return {
      bodyText: random.pick(['', '[]', '{}', 'null', '1', '"a"', '{', '[1]', '[{}]', '{"a":', 'a: b', '[null]', 'x']),
    };
  switch (mediaType) {
    case 'application/json-patch+json':
      return textual(jsonPatch(random, objectOf(random, kind, name)));
    case 'application/apply-patch+yaml': {
      const object = objectOf(random, kind, name);
      return requestBody(random, mutated(random, object, random.chance(0.5) ? 0 : mutationCount(random)));
    }
    case 'application/merge-patch+json':
      return textual(mergePatch(random, kind, name, false));
    case 'application/strategic-merge-patch+json':
      return textual(mergePatch(random, kind, name, true));
  }
}

const textual = (value: unknown): Partial<Step> =>
  hasNumberText(value) ? { bodyText: jsonText(value) } : { body: value };

const patchOptions = (random: Random, mediaType: MediaType): string => {
  const options: string[] = [];
  if (mediaType === 'application/apply-patch+yaml') {
    if (random.chance(0.95)) options.push(`fieldManager=${random.pick(['m', 'm', 'n'])}`);
    if (random.chance(0.4)) options.push(`force=${random.pick(['true', 'true', 'false', 'x'])}`);
  } else {
    if (random.chance(0.15)) options.push('fieldManager=m');
    if (random.chance(0.05)) options.push('force=true');
  }
  if (random.chance(0.3)) options.push(`fieldValidation=${random.pick(['Strict', 'Warn', 'Ignore', 'x'])}`);
  if (random.chance(0.1)) options.push('dryRun=All');
  return options.length === 0 ? '' : `?${options.join('&')}`;
};

export function patchStep(
  random: Random,
  kind: Kind,
  path: string,
  name: string,
  types: readonly MediaType[] = mediaTypes,
): Step {
  const mediaType = random.pick(types);
  return {
    method: 'PATCH',
    path: `${path}${patchOptions(random, mediaType)}`,
    headers: { 'content-type': mediaType },
    ...patchBody(random, mediaType, kind, name),
    managedFields: mediaType === 'application/apply-patch+yaml',
  };
}

/** The three patch types and apply on built-in kinds, well-formed and malformed. */
export const patches: Topic = {
  name: 'patches',
  steps(random) {
    const kind = random.pick(kinds);
    const collection = collectionPath(kind);
    const name = kind.isNamespaced ? 'a' : 'a-{{run}}';
    const steps: Step[] = kind.isNamespaced ? [createNamespace] : [];
    steps.push({ method: 'POST', path: collection, body: objectOf(random, kind, name) });
    for (let count = 3 + random.int(5); count > 0; count--) {
      const target = random.chance(0.06) ? objectName(random, kind) : name;
      const path = `${collection}/${encodeURIComponent(target).replaceAll('%7B', '{').replaceAll('%7D', '}')}`;
      steps.push(patchStep(random, kind, path, name));
    }
    return steps;
  },
};

/** Server-side apply by several managers, with the managed fields of every answer. */
export const apply: Topic = {
  name: 'apply',
  steps(random) {
    const kind = random.pick(kinds);
    const name = kind.isNamespaced ? 'a' : 'a-{{run}}';
    const path = `${collectionPath(kind)}/${name}`;
    const steps: Step[] = kind.isNamespaced ? [createNamespace] : [];
    for (let count = 4 + random.int(4); count > 0; count--)
      steps.push({
        ...patchStep(random, kind, path, name, random.chance(0.8) ? ['application/apply-patch+yaml'] : mediaTypes),
        managedFields: true,
      });
    return steps;
  },
};
