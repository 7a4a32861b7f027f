import type { ShardOptions } from '../options.ts';

/** What a Shard says of where it is (C2.5). */
export interface ShardUrls {
  readonly baseURL: string;
  readonly externalURL: string;
  readonly virtualWorkspaceURL: string;
}

/** Each falls back on the base URL, and that on where this process listens (C12.8). */
export function shardUrls(options: ShardOptions, port: number): ShardUrls {
  const baseURL =
    options.shardBaseUrl ?? `https://${options.externalHostname ?? reachableHost(options.bindAddress)}:${port}`;
  return {
    baseURL,
    externalURL: options.shardExternalUrl ?? baseURL,
    virtualWorkspaceURL: options.shardVirtualWorkspaceUrl ?? baseURL,
  };
}

/** A host that a client on this machine can use for an address to listen on. */
function reachableHost(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  if (address === '::') return '[::1]';
  return address.includes(':') ? `[${address}]` : address;
}
