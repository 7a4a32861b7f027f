import { isIP } from 'node:net';

/** The external properties of a sharded installation, from which its PKI is derived. */
export interface ClusterPkiOptions {
  /** Folder of the CAs, keys, certificates and kubeconfigs. */
  readonly directory: string;
  /** Shard name → URL at which the other servers reach it. One of the shards is `root`. */
  readonly shardUrls: Readonly<Record<string, string>>;
  /** URL at which clients reach the front-proxy. */
  readonly externalUrl: string;
  /** URL at which the servers reach the front-proxy. */
  readonly frontProxyUrl: string;
  readonly cacheUrl: string;
  /** Additional names and addresses of every server. */
  readonly hosts: readonly string[];
  /** Prefix of the servers' Service names in a Helm release. */
  readonly namePrefix?: string | undefined;
  readonly days: number;
  readonly authorityDays: number;
}

/**
 * The CAs. Each is trusted for one purpose: a serving certificate never authenticates a client, the client CA cannot issue
 * request header (front-proxy) identities, and storage (etcd, NATS) trusts its own CA. The CA of workspaces signs what their
 * administrators ask for.
 */
export const authorityNames = ['serving-ca', 'client-ca', 'requestheader-ca', 'storage-ca', 'workspace-ca'] as const;
export type AuthorityName = (typeof authorityNames)[number];

export interface PlannedServer {
  /** Folder of `tls.crt` and `tls.key`. */
  readonly name: string;
  readonly authority: AuthorityName;
  readonly hosts: readonly string[];
}

export interface PlannedClient {
  readonly name: string;
  readonly authority: AuthorityName;
  readonly user: string;
  readonly groups: readonly string[];
}

const loopback = ['localhost', '127.0.0.1', '::1'];

/** Every server with its hosts: its name, which container networks resolve, and the hosts of its URLs. */
export function plannedServers(options: ClusterPkiOptions): readonly PlannedServer[] {
  const server = (name: string, authority: AuthorityName, ...urls: string[]): PlannedServer => ({
    name,
    authority,
    hosts: [
      ...new Set([name, `${options.namePrefix ?? ''}${name}`, ...loopback, ...urls.map(hostOf), ...options.hosts]),
    ],
  });
  const shards = Object.entries(options.shardUrls);
  return [
    server('front-proxy', 'serving-ca', options.externalUrl, options.frontProxyUrl),
    server('console', 'serving-ca', options.externalUrl),
    server('cache-server', 'serving-ca', options.cacheUrl),
    ...shards.map(([name, url]) => server(`shard-${name}`, 'serving-ca', url)),
    ...shards.map(([name]) => server(`virtual-workspaces-${name}`, 'serving-ca')),
    ...shards.map(([name]) => server(`etcd-${name}`, 'storage-ca')),
    server('nats', 'storage-ca'),
  ];
}

/** All client identities. */
export const plannedClients: readonly PlannedClient[] = [
  // These three may set the request headers that name the user.
  { name: 'kcp-front-proxy', authority: 'requestheader-ca', user: 'kcp-front-proxy', groups: [] },
  { name: 'kcp-mounts-proxy', authority: 'requestheader-ca', user: 'kcp-mounts-proxy', groups: [] },
  { name: 'kcp-shard', authority: 'requestheader-ca', user: 'kcp-shard', groups: [] },
  { name: 'shard-admin', authority: 'client-ca', user: 'shard-admin', groups: ['system:masters'] },
  {
    name: 'logical-cluster-admin',
    authority: 'client-ca',
    user: 'logical-cluster-admin',
    groups: ['system:kcp:logical-cluster-admin'],
  },
  {
    name: 'external-logical-cluster-admin',
    authority: 'client-ca',
    user: 'external-logical-cluster-admin',
    groups: ['system:kcp:external-logical-cluster-admin'],
  },
  { name: 'kcp-admin', authority: 'client-ca', user: 'kcp-admin', groups: ['system:kcp:admin'] },
  // Kubernetes' bootstrap policy lets this group read metrics and health.
  { name: 'metrics-reader', authority: 'client-ca', user: 'metrics-reader', groups: ['system:monitoring'] },
  { name: 'storage-client', authority: 'storage-ca', user: 'multiplane', groups: [] },
];

/** A kubeconfig with one client and one context per URL; the first context is the current one. */
export interface PlannedKubeconfig {
  readonly file: string;
  readonly client: string;
  readonly contexts: Readonly<Record<string, string>>;
  /** Embeds the certificates, for a file that users copy; otherwise it names the files, which may be rotated. */
  readonly inline?: true;
}

export function plannedKubeconfigs(options: ClusterPkiOptions): readonly PlannedKubeconfig[] {
  const { shardUrls, externalUrl, frontProxyUrl, cacheUrl } = options;
  const rootUrl = shardUrls['root'] as string;
  // A shard uses the context `shard-base` of another shard's kubeconfig, as in kcp.
  const shard = (file: string, client: string, url: string): PlannedKubeconfig => ({
    file,
    client,
    contexts: { 'shard-base': url, 'system:admin': `${url}/clusters/system:admin` },
  });
  return [
    {
      file: 'admin.kubeconfig',
      client: 'kcp-admin',
      contexts: { root: `${externalUrl}/clusters/root`, base: externalUrl },
      inline: true,
    },
    // The front-proxy replaces its server by the URL of each shard.
    shard('shards.kubeconfig', 'shard-admin', rootUrl),
    shard('root-shard.kubeconfig', 'shard-admin', rootUrl),
    ...Object.entries(shardUrls).map(([name, url]) => shard(`shard-${name}.kubeconfig`, 'shard-admin', url)),
    { file: 'logical-cluster-admin.kubeconfig', client: 'logical-cluster-admin', contexts: { base: rootUrl } },
    {
      file: 'external-logical-cluster-admin.kubeconfig',
      client: 'external-logical-cluster-admin',
      contexts: { base: frontProxyUrl },
    },
    { file: 'cache.kubeconfig', client: 'shard-admin', contexts: { cache: cacheUrl } },
  ];
}

/** The first problem of the options; undefined when they are valid. */
export function validateClusterPkiOptions(options: ClusterPkiOptions): string | undefined {
  const { shardUrls, externalUrl, frontProxyUrl, cacheUrl, hosts } = options;
  if (!Object.hasOwn(shardUrls, 'root')) return 'one of the shards must be called root';
  for (const name of Object.keys(shardUrls)) {
    if (!/^[a-z\d]([-a-z\d]{0,48}[a-z\d])?$/.test(name)) return `${JSON.stringify(name)} is not a valid shard name`;
  }
  for (const url of [...Object.values(shardUrls), externalUrl, frontProxyUrl, cacheUrl]) {
    if (!URL.canParse(url) || new URL(url).protocol !== 'https:' || new URL(url).pathname !== '/')
      return `${JSON.stringify(url)} is not https://<host>[:<port>]`;
  }
  for (const host of hosts) {
    if (isIP(host) === 0 && !/^(\*\.)?[a-z\d]([-a-z\d.]*[a-z\d])?$/i.test(host))
      return `${JSON.stringify(host)} is neither a host name nor an address`;
  }
  return undefined;
}

const hostOf = (url: string): string => new URL(url).hostname.replace(/^\[|\]$/g, '');
