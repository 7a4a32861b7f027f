import type { ContainerEngine } from './engine.ts';
import { image } from './working-engine.ts';

const group = 'example.org';

/** An API that needs nothing else. */
export const widgets = {
  definition: {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Cluster',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
            },
          },
        },
      ],
    },
  },
  object: (name: string): object => ({
    apiVersion: `${group}/v1`,
    kind: 'Widget',
    metadata: { name },
    spec: { size: 1 },
  }),
} as const;

/** Another tag and another image with the same program: what an upgrade changes for the containers. */
export function nextImage(engine: ContainerEngine): string {
  const next = image.replace(/:.*/, ':2');
  engine.sync(['build', '--quiet', '--tag', next, '-'], { input: `FROM ${image}\nLABEL multiplane.e2e.release=2\n` });
  return next;
}

const levels = ['debug', 'info', 'warn', 'error', 'fatal'];

/**
 * Lines of a log of a level or above it: of JSON (ours, etcd's) by their level, of NATS by its tag. A line of another form, as
 * Node's own warnings are, always counts. That the event loop was blocked says something of the machine: suites share it.
 */
export function troubleIn(log: string, least: 'warn' | 'error'): string[] {
  return log.split('\n').filter((line) => line.trim() !== '' && levels.indexOf(levelOf(line)) >= levels.indexOf(least));
}

function levelOf(line: string): string {
  const [, tag] = /^\[\d+\] \S+ \S+ \[(INF|WRN|ERR|FTL|DBG)\] /.exec(line) ?? [];
  if (tag !== undefined) return { INF: 'info', WRN: 'warn', ERR: 'error', FTL: 'fatal', DBG: 'debug' }[tag] as string;
  // Prometheus: logfmt.
  const [, level] = /^(?:ts|time)=\S+ .*?level=(\w+) /.exec(line) ?? [];
  if (level !== undefined) return level.toLowerCase();
  try {
    const { level = 'fatal', message } = JSON.parse(line) as { readonly level?: string; readonly message?: string };
    return message === 'event loop blocked' ? 'info' : level;
  } catch {
    return 'fatal';
  }
}

/** A workspace below root that must be on one shard. */
export const workspaceOn = (name: string, shard: string): object => ({
  apiVersion: 'tenancy.kcp.io/v1alpha1',
  kind: 'Workspace',
  metadata: { name },
  spec: { location: { selector: { matchLabels: { name: shard } } } },
});

const gadgetGroup = 'gadgets.example.org';

/** An API that one workspace exports and another binds. */
export const gadgets = {
  schema: {
    apiVersion: 'apis.kcp.io/v1alpha1',
    kind: 'APIResourceSchema',
    metadata: { name: `v1.gadgets.${gadgetGroup}` },
    spec: {
      group: gadgetGroup,
      scope: 'Cluster',
      names: { plural: 'gadgets', singular: 'gadget', kind: 'Gadget', listKind: 'GadgetList' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        },
      ],
    },
  },
  export: {
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIExport',
    metadata: { name: 'gadgets' },
    spec: {
      resources: [{ group: gadgetGroup, name: 'gadgets', schema: `v1.gadgets.${gadgetGroup}`, storage: { crd: {} } }],
    },
  },
  binding: (path: string): object => ({
    apiVersion: 'apis.kcp.io/v1alpha2',
    kind: 'APIBinding',
    metadata: { name: 'gadgets' },
    spec: { reference: { export: { path, name: 'gadgets' } } },
  }),
  object: (name: string): object => ({
    apiVersion: `${gadgetGroup}/v1`,
    kind: 'Gadget',
    metadata: { name },
    spec: { size: 1 },
  }),
} as const;
