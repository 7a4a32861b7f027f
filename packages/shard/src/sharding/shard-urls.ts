import type { ShardOptions } from '../options.ts';

/** The URLs in the spec of a Shard. */
export interface ShardUrls {
  readonly baseURL: string;
  readonly externalURL: string;
  readonly virtualWorkspaceURL: string;
}

type ShardUrlOptions = Partial<
  Pick<ShardOptions, 'shardBaseUrl' | 'shardExternalUrl' | 'shardVirtualWorkspaceUrl' | 'externalHostname'>
> &
  Pick<ShardOptions, 'bindAddress'>;

/** Each URL defaults to the base URL, and that to the address of the listener. */
export function shardUrls(options: ShardUrlOptions, port: number): ShardUrls {
  const baseURL =
    options.shardBaseUrl ?? `https://${options.externalHostname ?? reachableHost(options.bindAddress)}:${port}`;
  return {
    baseURL,
    externalURL: options.shardExternalUrl ?? baseURL,
    virtualWorkspaceURL: options.shardVirtualWorkspaceUrl ?? baseURL,
  };
}

/** The host with which a client on this machine reaches a listen address. */
function reachableHost(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  if (address === '::') return '[::1]';
  return address.includes(':') ? `[${address}]` : address;
}
