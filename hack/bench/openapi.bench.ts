// OpenAPI of workspaces with many definitions, and what identical definitions cost. Run: hack/bench/run openapi
// Limits (issue 7, figures): of a workspace with 100 definitions the first document within 500 ms, then 304 or within
// 5 ms; 1,000 definitions of 430 KB, the same 20 in 50 workspaces: at most 30 MiB more than in one.
import { readFileSync, readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { JsonObject, KubeObject } from '@multiplane/apimachinery';
import { CustomResources, type ResourceDefinition, builtInResources } from '@multiplane/apis';
import { openapiHandler } from '@multiplane/apiserver';
import { MemoryExchange, memoryContext } from '../../packages/apiserver/test/memory-exchange.ts';
import { report } from './report.ts';
import { threadTime, watchTurns } from './thread-time.ts';

interface Definition {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: JsonObject } }[];
  };
}
const folder = new URL('../../e2e/fixtures/crds/', import.meta.url);
const fixtures = readdirSync(folder).map(
  (file) => JSON.parse(readFileSync(new URL(file, folder), 'utf8')) as Definition,
);
const never = new AbortController().signal;

/** An accepted definition of one version. */
function accepted(n: number, schema: JsonObject): KubeObject {
  const names = { plural: `things${n}`, singular: `thing${n}`, kind: `Thing${n}`, listKind: `Thing${n}List` };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${names.plural}.group-${n % 10}.example.com` },
    spec: {
      group: `group-${n % 10}.example.com`,
      scope: 'Namespaced',
      names,
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
      ],
    },
    status: { acceptedNames: names },
  };
}

console.log('\nOpenAPI');

// 100 different definitions: those of real projects, over and over, each with a title of its own.
const custom = new CustomResources();
const hundred = Array.from({ length: 100 }, (_, n) => {
  const { spec } = fixtures[n % fixtures.length] as Definition;
  const schema = structuredClone(spec.versions[0]?.schema.openAPIV3Schema as JsonObject);
  return custom.definitionsOf(accepted(n, { ...schema, title: `copy ${n}` }), never);
}).flat();
const definitions: readonly ResourceDefinition[] = [...builtInResources(), ...hundred];
const handler = openapiHandler(
  { version: 'v1.36.0' },
  {
    resolver: {
      resolve: () => undefined,
      list: () => definitions,
      discoveryHash: () => 'one',
      isBuiltInGroup: () => false,
    },
  },
);

/** A response that discards its body. */
class UnreadExchange extends MemoryExchange {
  bytes = 0;
  override respond(status: number, body: Buffer | string): void {
    this.status = status;
    this.bytes = body.length;
  }
}

async function get(path: string, headers: Record<string, string> = {}): Promise<UnreadExchange> {
  const exchange = new UnreadExchange('GET', `/clusters/a${path}`, headers);
  await handler(memoryContext(exchange));
  return exchange;
}

const protobuf = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
for (const [name, path, headers] of [
  ['v3 of one group version', '/openapi/v3/apis/group-3.example.com/v1', {}],
  ['v2', '/openapi/v2', {}],
  ['v2 in protobuf', '/openapi/v2', { accept: protobuf }],
] as const) {
  const first = await watchTurns(() => get(path, headers));
  const again = await watchTurns(() => get(path, headers));
  const unchanged = await get(path, { ...headers, 'if-none-match': first.result.answer['etag'] as string });
  if (first.result.status !== 200 || unchanged.status !== 304) throw new Error(`${name}: ${first.result.status}`);
  report({
    name: `OpenAPI ${name}, 100 definitions, first`,
    value: first.took,
    unit: 'ms',
    target: { atMost: 500 },
    note: `${Math.round(first.result.bytes / 1024)} KiB`,
  });
  report({ name: `OpenAPI ${name}, again`, value: again.took, unit: 'ms', target: { atMost: 5 } });
  report({ name: `OpenAPI ${name}, longest turn`, value: first.longest, unit: 'ms', target: { atMost: 50 } });
}

// Definitions of 430 KB, each workspace with its own copy of the text.
const large = fixtures.find(({ spec }) => spec.names.plural === 'deploymentruntimeconfigs') as Definition;
const part = large.spec.versions[0]?.schema.openAPIV3Schema as JsonObject;
const perWorkspace = 20;
const texts = Array.from({ length: perWorkspace }, (_, n) =>
  JSON.stringify({
    type: 'object',
    title: `large ${n}`,
    properties: Object.fromEntries(Array.from({ length: 7 }, (__, copy) => [`part${copy}`, part])),
  }),
);
const many = new CustomResources();
const kept: (readonly ResourceDefinition[])[] = [];
const addWorkspace = async (): Promise<number> => {
  let longest = 0;
  for (const [n, text] of texts.entries()) {
    const schema = JSON.parse(text) as JsonObject;
    const begin = threadTime();
    const made = many.definitionsOf(accepted(n, schema), never);
    for (const definition of made) definition.schema.prepare();
    kept.push(made);
    longest = Math.max(longest, threadTime() - begin);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return longest;
};
// hack/bench/run asks for no flag of its own.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const held = (): number => {
  collect();
  collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
};
const longestCompile = await addWorkspace();
const one = held();
for (let workspace = 1; workspace < 50; workspace++) await addWorkspace();
report({
  name: `definitions of ${Math.round((texts[0] as string).length / 1000)} KB, the same 20 in 50 workspaces, over those in one`,
  value: held() - one,
  unit: 'MiB',
  target: { atMost: 30 },
  note: `${kept.length} definitions; those of one workspace take ${one.toFixed(0)} MiB with all else`,
});
report({ name: 'compiling one of them, longest', value: longestCompile, unit: 'ms', target: { atMost: 50 } });
