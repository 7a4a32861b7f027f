import type { DefaultLimits } from '@multiplane/apis';
import type { OptionTable, OptionValues } from '@multiplane/component-base';

/** Objects, definitions, requests and cost units per second of one workspace: more than a shard can hold or evaluate. */
const mostAmount = 1_000_000_000;
/** More bytes than a shard can keep in memory. */
const mostBytes = 2 ** 39;
const where = 'of a workspace whose parent sets no other limit; 0: no limit';

/**
 * Defaults of the limits of workspaces (docs/adr/0110). That of objects has the name of kcp's flag after v0.32. Below the
 * minimum a new workspace would not become ready, or its administrator could not raise the limit for lack of requests.
 */
export const limitOptionTable = {
  'logical-cluster-total-object-limit': {
    type: 'number',
    default: 1_000_000,
    min: 100,
    allowsZero: true,
    max: mostAmount,
    description: `Stored objects, without events, ${where}.`,
  },
  'workspace-max-bytes': {
    type: 'number',
    default: 4 * 1024 ** 3,
    min: 1024 ** 2,
    allowsZero: true,
    max: mostBytes,
    description: `Bytes of all stored objects ${where}.`,
  },
  'workspace-max-definitions': {
    type: 'number',
    default: 5_000,
    min: 10,
    allowsZero: true,
    max: mostAmount,
    description: `CustomResourceDefinitions and APIResourceSchemas ${where}.`,
  },
  'workspace-max-schema-bytes': {
    type: 'number',
    default: 256 * 1024 ** 2,
    min: 1024 ** 2,
    allowsZero: true,
    max: mostBytes,
    description: `Bytes of CustomResourceDefinitions and APIResourceSchemas ${where}.`,
  },
  'workspace-max-watches': {
    type: 'number',
    default: 20_000,
    min: 10,
    allowsZero: true,
    max: mostAmount,
    description: `Open watches ${where}.`,
  },
  'workspace-max-connections': {
    type: 'number',
    default: 1_000,
    min: 10,
    allowsZero: true,
    max: mostAmount,
    description: `Connections of clients with an open request ${where}.`,
  },
  'workspace-max-requests-in-flight': {
    type: 'number',
    default: 10_000,
    min: 10,
    allowsZero: true,
    max: mostAmount,
    description: `Open requests other than watches ${where}.`,
  },
  'workspace-max-requests-per-second': {
    type: 'number',
    default: 1_000,
    min: 10,
    allowsZero: true,
    max: mostAmount,
    description: `Requests for resources per second ${where}. Those of five seconds may arrive at once, further ones wait while others are served.`,
  },
  'workspace-max-cel-cost-per-second': {
    type: 'number',
    default: 20_000_000,
    min: 1_000_000,
    allowsZero: true,
    max: mostAmount,
    description: `Cost units of CEL expressions per second ${where}. One object may cost 10,000,000, about a second.`,
  },
} as const satisfies OptionTable;

export function defaultLimits(options: OptionValues<typeof limitOptionTable>): DefaultLimits {
  return {
    objects: options.logicalClusterTotalObjectLimit,
    bytes: options.workspaceMaxBytes,
    definitions: options.workspaceMaxDefinitions,
    schemaBytes: options.workspaceMaxSchemaBytes,
    watches: options.workspaceMaxWatches,
    connections: options.workspaceMaxConnections,
    requestsInFlight: options.workspaceMaxRequestsInFlight,
    requestsPerSecond: options.workspaceMaxRequestsPerSecond,
    celCostPerSecond: options.workspaceMaxCelCostPerSecond,
  };
}
