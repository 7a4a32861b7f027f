/**
 * The processes of a sharded control plane: one list, from which `multiplane start --shards` and `make up PROFILE=sharded`
 * start them, the end-to-end suites start them on free ports, and `deploy/compose/compose.yaml` is generated. What runs where differs; what runs,
 * with which flags and in which order, does not.
 */

/** Where a topology is laid out: on this machine, in a test's folder, or in containers. */
export interface Place {
  /** The first one is `root`. */
  readonly shards: readonly string[];
  /** Folder of certificates and kubeconfigs, as the processes see it. */
  readonly pki: string;
  /** Folder of other files that the processes read. */
  readonly config: string;
  /** Where a process keeps what it stores. */
  readonly data: (process: string) => string;
  /** Name by which the other processes reach a process. */
  readonly host: (process: string) => string;
  /** Address that every process listens on. */
  readonly listen: string;
  /** Port of a process in this place; `usual` is the one of the documentation. */
  readonly port: (process: string, usual: number) => number;
  /** Where clients reach the front-proxy. */
  readonly externalUrl: string;
  /**
   * Every process that stores something has an embedded store: there are no etcd and no NATS, shards publish through the cache
   * server, and each shard serves its virtual workspaces itself.
   */
  readonly hasEmbeddedStores?: boolean | undefined;
  /** With the web console, a process that nothing else needs. */
  readonly hasConsole?: boolean | undefined;
  /** Further entries of the front-proxy's mapping file, before the usual ones. */
  readonly mappings?: readonly { readonly path: string; readonly backend: string }[] | undefined;
  /** What the shards create at their first start; default: {@link usualBatteries}. */
  readonly batteries?: readonly string[] | undefined;
  /** Further flags by kind of process. */
  readonly flags?: Partial<Record<ProcessKind, readonly string[]>> | undefined;
}

const usualBatteries = ['workspace-types', 'native-kinds'];

export type ProcessKind = 'etcd' | 'nats' | 'cache-server' | 'virtual-workspaces' | 'shard' | 'front-proxy' | 'console';

export interface ClusterProcess {
  readonly name: string;
  readonly kind: ProcessKind;
  readonly program: 'etcd' | 'nats-server' | 'multiplane';
  readonly args: readonly string[];
  readonly port: number;
  /** Processes that must be healthy before this one starts. */
  readonly needs: readonly string[];
  /** Answers 200 when it serves. `ca` verifies an https one. */
  readonly health: { readonly url: string; readonly ca?: string };
}

/** Ports as kcp documents them: shard n listens on 6444 + n, its virtual workspaces on 7444 + n. */
const ports = {
  frontProxy: 6443,
  shard: 6444,
  virtualWorkspaces: 7444,
  console: 8443,
  cache: 8012,
  nats: 4222,
  etcd: 2379,
} as const;
/** Health of etcd and NATS is asked for over plain HTTP, on loopback only. */
const healthPorts = { nats: 8222, etcd: 2381 } as const;

/** Where the servers find each other; `multiplane pki init` puts the same URLs into kubeconfigs and certificates. */
export function urlsOf(place: Place): {
  readonly frontProxy: string;
  readonly cache: string;
  readonly shards: Readonly<Record<string, string>>;
  readonly virtualWorkspaces: Readonly<Record<string, string>>;
} {
  const url = (name: string, usual: number): string => `https://${place.host(name)}:${place.port(name, usual)}`;
  const each = (prefix: string, first: number): Record<string, string> =>
    Object.fromEntries(place.shards.map((shard, index) => [shard, url(`${prefix}-${shard}`, first + index)]));
  return {
    frontProxy: url('front-proxy', ports.frontProxy),
    cache: url('cache-server', ports.cache),
    shards: each('shard', ports.shard),
    virtualWorkspaces:
      place.hasEmbeddedStores === true
        ? each('shard', ports.shard)
        : each('virtual-workspaces', ports.virtualWorkspaces),
  };
}

/** The arguments that make the certificates of this place. */
export function pkiArguments(place: Place): readonly string[] {
  const { frontProxy, cache, shards } = urlsOf(place);
  return [
    'pki',
    'init',
    '--quiet',
    `--directory=${place.pki}`,
    `--shard-urls=${Object.entries(shards)
      .map(([name, url]) => `${name}=${url}`)
      .join(',')}`,
    `--external-url=${place.externalUrl}`,
    `--front-proxy-url=${frontProxy}`,
    `--cache-url=${cache}`,
  ];
}

/** Files that the processes read beside certificates: name below `config` → content. */
export function configFiles(place: Place): Readonly<Record<string, string>> {
  return { 'mapping.yaml': `${JSON.stringify(mappings(place), undefined, 2)}\n` };
}

/** Everything in a topology that has a port of its own. */
export function portNames(shards: readonly string[]): readonly string[] {
  const names = new Set<string>();
  topology({
    shards,
    pki: '',
    config: '',
    data: () => '',
    host: () => '',
    listen: '',
    externalUrl: '',
    hasConsole: true,
    port: (name, usual) => {
      names.add(name);
      return usual;
    },
  });
  return [...names];
}

/** All processes, each after those it needs. */
export function topology(place: Place): readonly ClusterProcess[] {
  const hasServers = place.hasEmbeddedStores !== true;
  return [
    ...(hasServers ? [...place.shards.map((shard, index) => etcd(place, shard, index)), nats(place)] : []),
    cacheServer(place),
    ...place.shards.map((shard, index) => shardProcess(place, shard, index)),
    ...(hasServers ? place.shards.map((shard, index) => virtualWorkspaces(place, shard, index)) : []),
    frontProxy(place),
    ...(place.hasConsole === true ? [webConsole(place)] : []),
  ];
}

function etcd(place: Place, shard: string, index: number): ClusterProcess {
  const name = `etcd-${shard}`;
  const port = place.port(name, ports.etcd + 10 * index);
  const peer = `http://127.0.0.1:${place.port(`${name}-peer`, ports.etcd + 10 * index + 1)}`;
  const metrics = `http://127.0.0.1:${place.port(`${name}-health`, healthPorts.etcd + 10 * index)}`;
  return {
    name,
    kind: 'etcd',
    program: 'etcd',
    args: [
      '--name=default',
      `--data-dir=${place.data(name)}`,
      `--listen-client-urls=https://${place.listen}:${port}`,
      `--advertise-client-urls=https://${place.host(name)}:${port}`,
      // One member: it has no other peers.
      `--listen-peer-urls=${peer}`,
      `--initial-advertise-peer-urls=${peer}`,
      `--initial-cluster=default=${peer}`,
      `--listen-metrics-urls=${metrics}`,
      `--cert-file=${place.pki}/${name}/tls.crt`,
      `--key-file=${place.pki}/${name}/tls.key`,
      `--trusted-ca-file=${place.pki}/storage-ca.crt`,
      '--client-cert-auth',
      // It would be a client of its own server, with a certificate that is for serving only.
      '--enable-grpc-gateway=false',
      '--auto-compaction-mode=periodic',
      '--auto-compaction-retention=10m',
      '--quota-backend-bytes=8589934592',
      '--logger=zap',
      '--log-level=warn',
      ...flagsOf(place, 'etcd'),
    ],
    port,
    needs: [],
    health: { url: `${metrics}/health` },
  };
}

function nats(place: Place): ClusterProcess {
  const port = place.port('nats', ports.nats);
  const health = place.port('nats-health', healthPorts.nats);
  return {
    name: 'nats',
    kind: 'nats',
    program: 'nats-server',
    args: [
      `--addr=${place.listen}`,
      `--port=${port}`,
      `--http_port=${health}`,
      '--jetstream',
      `--store_dir=${place.data('nats')}`,
      `--tlscert=${place.pki}/nats/tls.crt`,
      `--tlskey=${place.pki}/nats/tls.key`,
      `--tlscacert=${place.pki}/storage-ca.crt`,
      '--tlsverify',
      ...flagsOf(place, 'nats'),
    ],
    port,
    needs: [],
    health: { url: `http://127.0.0.1:${health}/healthz` },
  };
}

function cacheServer(place: Place): ClusterProcess {
  const name = 'cache-server';
  return {
    ...multiplane(place, name, 'cache-server', ports.cache),
    args: [
      'cache-server',
      ...serving(place, name, ports.cache),
      `--client-ca-file=${place.pki}/client-ca.crt`,
      ...(place.hasEmbeddedStores === true ? ['--storage-backend=file'] : natsFlags(place)),
      ...flagsOf(place, 'cache-server'),
    ],
    needs: place.hasEmbeddedStores === true ? [] : ['nats'],
  };
}

function shardProcess(place: Place, shard: string, index: number): ClusterProcess {
  const name = `shard-${shard}`;
  const isRoot = index === 0;
  const { pki } = place;
  const urls = urlsOf(place);
  const etcdName = `etcd-${shard}`;
  return {
    ...multiplane(place, name, 'shard', ports.shard + index),
    args: [
      'shard',
      `--shard-name=${shard}`,
      ...serving(place, name, ports.shard + index),
      `--shard-base-url=${urls.shards[shard]}`,
      `--shard-external-url=${place.externalUrl}`,
      `--shard-virtual-workspace-url=${urls.virtualWorkspaces[shard]}`,
      `--run-virtual-workspaces=${place.hasEmbeddedStores === true}`,
      `--batteries-included=${(place.batteries ?? usualBatteries).join(',')}`,
      `--client-ca-file=${pki}/client-ca.crt`,
      ...requestHeader(place, 'kcp-front-proxy'),
      `--cluster-signing-cert-file=${pki}/workspace-ca.crt`,
      `--cluster-signing-key-file=${pki}/workspace-ca.key`,
      `--root-ca-file=${pki}/serving-ca.crt`,
      `--service-account-private-key-file=${pki}/service-account.key`,
      `--service-account-key-file=${pki}/service-account.pub`,
      `--shard-client-cert-file=${pki}/kcp-shard/tls.crt`,
      `--shard-client-key-file=${pki}/kcp-shard/tls.key`,
      `--shard-virtual-workspace-ca-file=${pki}/serving-ca.crt`,
      `--mount-proxy-client-cert-file=${pki}/kcp-mounts-proxy/tls.crt`,
      `--mount-proxy-client-key-file=${pki}/kcp-mounts-proxy/tls.key`,
      ...(isRoot ? [] : [`--root-shard-kubeconfig-file=${pki}/root-shard.kubeconfig`]),
      `--logical-cluster-admin-kubeconfig=${pki}/logical-cluster-admin.kubeconfig`,
      `--external-logical-cluster-admin-kubeconfig=${pki}/external-logical-cluster-admin.kubeconfig`,
      `--cache-kubeconfig=${pki}/cache.kubeconfig`,
      ...(place.hasEmbeddedStores === true
        ? ['--storage-backend=file']
        : [...etcdFlags(place, etcdName, ports.etcd + 10 * index), ...natsFlags(place)]),
      ...flagsOf(place, 'shard'),
    ],
    // Another shard binds the APIs that the root shard exports, so it is not ready before that one.
    needs: [
      ...(place.hasEmbeddedStores === true ? [] : [etcdName, 'nats']),
      'cache-server',
      ...(isRoot ? [] : ['shard-root']),
    ],
  };
}

function virtualWorkspaces(place: Place, shard: string, index: number): ClusterProcess {
  const name = `virtual-workspaces-${shard}`;
  return {
    ...multiplane(place, name, 'virtual-workspaces', ports.virtualWorkspaces + index),
    args: [
      'virtual-workspaces',
      ...listener(place, name, ports.virtualWorkspaces + index),
      `--kubeconfig=${place.pki}/shard-${shard}.kubeconfig`,
      `--external-logical-cluster-admin-kubeconfig=${place.pki}/external-logical-cluster-admin.kubeconfig`,
      `--cache-kubeconfig=${place.pki}/cache.kubeconfig`,
      `--client-ca-file=${place.pki}/client-ca.crt`,
      ...requestHeader(place, 'kcp-front-proxy,kcp-shard'),
      ...flagsOf(place, 'virtual-workspaces'),
    ],
    needs: [`shard-${shard}`, 'cache-server'],
  };
}

function frontProxy(place: Place): ClusterProcess {
  return {
    ...multiplane(place, 'front-proxy', 'front-proxy', ports.frontProxy),
    args: [
      'front-proxy',
      ...serving(place, 'front-proxy', ports.frontProxy),
      `--mapping-file=${place.config}/mapping.yaml`,
      `--root-kubeconfig=${place.pki}/root-shard.kubeconfig`,
      `--shards-kubeconfig=${place.pki}/shards.kubeconfig`,
      `--client-ca-file=${place.pki}/client-ca.crt`,
      `--workspace-client-ca-file=${place.pki}/workspace-ca.crt`,
      ...requestHeader(place, 'kcp-front-proxy,kcp-mounts-proxy'),
      ...flagsOf(place, 'front-proxy'),
    ],
    needs: place.shards.flatMap((shard) => [
      `shard-${shard}`,
      ...(place.hasEmbeddedStores === true ? [] : [`virtual-workspaces-${shard}`]),
    ]),
  };
}

function webConsole(place: Place): ClusterProcess {
  const name = 'console';
  return {
    ...multiplane(place, name, 'console', ports.console),
    args: [
      'console',
      ...listener(place, name, ports.console),
      `--api-server-url=${urlsOf(place).frontProxy}`,
      `--api-server-external-url=${place.externalUrl}`,
      `--api-server-ca-file=${place.pki}/console/ca.crt`,
      ...flagsOf(place, 'console'),
    ],
    needs: ['front-proxy'],
  };
}

/** What all processes of this program have in common. */
function multiplane(
  place: Place,
  name: string,
  kind: ProcessKind,
  usual: number,
): Pick<ClusterProcess, 'name' | 'kind' | 'program' | 'port' | 'health'> {
  const port = place.port(name, usual);
  return {
    name,
    kind,
    program: 'multiplane',
    port,
    health: { url: `https://${loopbackOf(place)}:${port}/readyz`, ca: `${place.pki}/serving-ca.crt` },
  };
}

/** Where a process on the same machine reaches one that listens on the address of the place. */
function loopbackOf({ listen }: Place): string {
  if (['127.0.0.1', '0.0.0.0', '::', '::1', ''].includes(listen)) return 'localhost';
  return listen.includes(':') ? `[${listen}]` : listen;
}

function serving(place: Place, name: string, usual: number): string[] {
  return [`--root-directory=${place.data(name)}`, ...listener(place, name, usual)];
}

function listener(place: Place, name: string, usual: number): string[] {
  return [
    `--bind-address=${place.listen}`,
    `--secure-port=${place.port(name, usual)}`,
    `--tls-cert-file=${place.pki}/${name}/tls.crt`,
    `--tls-private-key-file=${place.pki}/${name}/tls.key`,
  ];
}

function etcdFlags(place: Place, name: string, usual: number): string[] {
  return [
    `--etcd-servers=https://${place.host(name)}:${place.port(name, usual)}`,
    `--etcd-cafile=${place.pki}/storage-ca.crt`,
    `--etcd-certfile=${place.pki}/storage-client/tls.crt`,
    `--etcd-keyfile=${place.pki}/storage-client/tls.key`,
  ];
}

function natsFlags(place: Place): string[] {
  return [
    `--nats-servers=nats://${place.host('nats')}:${place.port('nats', ports.nats)}`,
    `--nats-cafile=${place.pki}/storage-ca.crt`,
    `--nats-certfile=${place.pki}/storage-client/tls.crt`,
    `--nats-keyfile=${place.pki}/storage-client/tls.key`,
  ];
}

function requestHeader(place: Place, allowedNames: string): string[] {
  return [
    `--requestheader-client-ca-file=${place.pki}/requestheader-ca.crt`,
    `--requestheader-allowed-names=${allowedNames}`,
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
  ];
}

/** The front-proxy's mapping file; JSON is YAML. */
function mappings(place: Place): object[] {
  const { pki } = place;
  const { shards } = urlsOf(place);
  const tls = {
    backend_server_ca: `${pki}/serving-ca.crt`,
    proxy_client_cert: `${pki}/kcp-front-proxy/tls.crt`,
    proxy_client_key: `${pki}/kcp-front-proxy/tls.key`,
  };
  return [
    ...(place.mappings ?? []).map((mapping) => ({ ...mapping, ...tls })),
    { path: '/', backend: shards['root'], ...tls },
    { path: '/clusters/', backend: shards['root'], ...tls },
  ];
}

const flagsOf = (place: Place, kind: ProcessKind): readonly string[] => place.flags?.[kind] ?? [];
