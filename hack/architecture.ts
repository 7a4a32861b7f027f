/**
 * The one table of packages, arrows and library owners.
 *
 * `.dependency-cruiser.mjs` turns it into import rules and `architecture.test.ts` holds every
 * package.json and tsconfig.json against it. A new arrow is a decision: write an ADR first.
 */

/** What a package may import from the other packages, tests aside. */
export interface PackageRule {
  readonly mayImport: readonly string[];
  /** A server; servers never import each other. */
  readonly server?: true;
}

const core = ['apimachinery', 'component-base'];
const apiserverSees = [...core, 'schema', 'apis', 'storage', 'client', 'generic-server'];
const shardSees = [...apiserverSees, 'apiserver', 'controllers', 'reverse-proxy'];
const virtualFrameworkSees = [...core, 'schema', 'apis', 'client', 'generic-server', 'apiserver', 'reverse-proxy'];
const servers = ['shard', 'cache-server', 'virtual-workspaces', 'front-proxy', 'console'];

/** Package name (without the scope) → rule. A package that is not listed may not exist. */
export const packages: Readonly<Record<string, PackageRule>> = {
  apimachinery: { mayImport: [] },
  'component-base': { mayImport: [] },
  schema: { mayImport: ['apimachinery'] },
  apis: { mayImport: ['apimachinery', 'schema'] },
  storage: { mayImport: core },
  client: { mayImport: core },
  provider: { mayImport: [...core, 'client'] },
  // For tests of other projects: it starts the command, and imports none of its servers.
  'testing-server': { mayImport: [...core, 'client'] },
  // Without the scope: npm prescribes the name, for `npm create multiplane-provider`.
  'create-multiplane-provider': { mayImport: [] },
  'generic-server': { mayImport: [...core, 'client'] },
  apiserver: { mayImport: apiserverSees },
  controllers: { mayImport: [...core, 'apis', 'client'] },
  'reverse-proxy': { mayImport: ['component-base'] },
  'virtual-framework': { mayImport: virtualFrameworkSees },
  // storage: the replication virtual workspace reads cached objects through a watch cache (docs/adr/0077).
  'virtual-workspaces': { mayImport: [...virtualFrameworkSees, 'virtual-framework', 'storage'], server: true },
  shard: { mayImport: shardSees, server: true },
  'cache-server': { mayImport: [...apiserverSees, 'apiserver'], server: true },
  'front-proxy': { mayImport: [...core, 'client', 'generic-server', 'reverse-proxy'], server: true },
  console: { mayImport: [...core, 'client', 'generic-server'], server: true },
  // apis: what a claim is for, docs/adr/0141-claims-for-some-objects.md.
  multiplane: {
    mayImport: [...core, 'apis', 'client', 'storage', 'apiserver', 'create-multiplane-provider', ...servers],
  },
  testing: { mayImport: [...shardSees, 'virtual-framework', ...servers] },
};

/** Third-party library → the only packages that may import it, tests aside; nearly always one. */
export const owners: Readonly<Record<string, readonly string[]>> = {
  '@grpc/grpc-js': ['storage', 'testing'],
  '@noble/ciphers': ['storage'],
  // Loaded when --tracing-config-file is set: docs/adr/0123-tracing-loaded-on-demand.md.
  // provider: only spans, which do nothing until the program registers an SDK.
  '@opentelemetry/api': ['component-base', 'provider'],
  '@opentelemetry/exporter-trace-otlp-grpc': ['component-base'],
  '@opentelemetry/resources': ['component-base'],
  '@opentelemetry/sdk-trace': ['component-base'],
  '@peculiar/x509': ['component-base'],
  // Configuration documents; schema's differential tests use it as a second opinion.
  ajv: ['component-base'],
  // The table of flags is read with it; the kubectl plugins, which have no servers' options, use it directly.
  commander: ['component-base', 'multiplane'],
  etcd3: ['storage'],
  express: ['generic-server', 'console'],
  // Instead of http-proxy: docs/adr/0136-the-console-holds-no-rights.md.
  'http-proxy-3': ['console'],
  'iron-session': ['console'],
  jose: ['generic-server', 'testing'],
  'lru-cache': [
    'apimachinery',
    'apiserver',
    'controllers',
    'front-proxy',
    'generic-server',
    'shard',
    'virtual-framework',
  ],
  nats: ['storage'],
  'openid-client': ['console'],
  // Wrapped by mapConcurrently, which every other package uses.
  'p-map': ['apimachinery'],
  pino: ['component-base'],
  'prom-client': ['component-base'],
  re2js: ['schema'],
  'reflect-metadata': ['component-base'],
  // Instead of http-proxy: docs/adr/0034-reverse-proxy-on-undici.md.
  undici: ['reverse-proxy'],
  ws: ['generic-server'],
  yaml: ['apimachinery'],
};

/** Packages that only tests may import. */
export const testOnly: readonly string[] = ['testing'];
